import type { App } from '../../store/work.ts'
import type { LeafBlock } from '../../studio/studio.ts'
import type { SentMail } from '../engagement.sent.ts'

export type BlockType = 'vote' | 'rating' | 'quiz' | 'form' | 'booking' | 'checkout'
export type BlockOf<Type extends BlockType> = Extract<LeafBlock, { type: Type }>

/** The result of an answer (POST /liveview/{token}/interactions). */
export interface Answered {
  /** The same answer was recorded before, or the block keeps its first answer. */
  duplicate: boolean
  /** Where the recipient continues, such as the page of a payment provider. */
  redirectUrl?: string
}

/** The reader of a block: a program that reads the JSON, or a person who looks at the page. */
export type Reader = 'program' | 'person'

interface KindOf<Type extends BlockType> {
  type: Type
  /** Returns props to add when the block is shown, such as `slots` of a booking. */
  view?(app: App, sent: SentMail, block: BlockOf<Type>, reader: Reader): Promise<Record<string, unknown>>
  /**
   * Records an answer. It opens the unit of work itself, because some kinds use a socket first. Throws Problem `invalid` for a value
   * that does not fit the block, `conflict` for one that is no longer possible.
   */
  answer(app: App, sent: SentMail, block: BlockOf<Type>, value: unknown): Promise<Answered>
}

/**
 * A kind of interactive block: how it is shown and answered. app/features.ts lists the kinds of all features, so that the live view
 * does not depend on bookings and checkout. Blocks are passed with their merge tags filled.
 */
export type BlockKind<Type extends BlockType = BlockType> = { [Each in Type]: KindOf<Each> }[Type]

import type { App } from '../store/work.ts'
import type { LeafBlock } from '../studio/studio.ts'
import type { SentMail } from './engagement.sent.ts'

export type BlockType = 'vote' | 'rating' | 'quiz' | 'form' | 'booking' | 'checkout'
export type BlockOf<Type extends BlockType> = Extract<LeafBlock, { type: Type }>

/** What became of an answer (POST …/interactions). */
export interface Answered {
  /** The same answer was given before, or the first one stands. */
  duplicate: boolean
  /** Where the recipient goes on to. */
  redirectUrl?: string
}

/**
 * A kind of interactive block, of whichever feature: how it is seen and answered. app/features.ts lists them, so that the live
 * view knows no booking and no checkout. Blocks come with their merge tags filled.
 */
export interface BlockKind<Type extends BlockType = BlockType> {
  type: Type
  /** What is added to the block's props where it is shown (`slots` of a booking). */
  view?(app: App, sent: SentMail, block: BlockOf<Type>): Promise<Record<string, unknown>>
  /**
   * Takes an answer, in a unit of work that it opens itself: some need a socket before it. Throws Problem `invalid` for a value
   * that the block can't have, `conflict` for one that it can't have any more.
   */
  answer(app: App, sent: SentMail, block: BlockOf<Type>, value: unknown): Promise<Answered>
}

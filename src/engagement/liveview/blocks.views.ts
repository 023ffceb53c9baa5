import type { Html } from '../../pages/html.ts'
import type { App } from '../../store/work.ts'
import type { SentMail } from '../engagement.sent.ts'
import type { BlockOf, BlockType } from '../interactions/blocks.ts'
import type { AnswerState } from '../interactions/interactions.record.ts'

/** The values of a posted form by input name. The names come from the request, so read own properties only (`enteredInto`). */
export type Entered = Readonly<Record<string, string>>

/** Returns what was entered into an input, or an empty text if nothing was. */
export const enteredInto = (entered: Entered, name: string): string =>
  Object.hasOwn(entered, name) ? entered[name]! : ''

/** The state of a block on the page of a live view. */
export interface BlockPage {
  /** The recorded answer. It is undefined until there is an answer. */
  state: AnswerState[string] | undefined
  /** The followed link names the block. */
  isFirst: boolean
  /** The answer that the followed link names: selected, but not recorded. */
  chosen: string | undefined
  /** epoch ms */
  now: number
  /** The language of dates and numbers. It is null for English. */
  lang: string | null
  /** The name of the account, or of the sender of the email. It is null if neither has one. */
  host: string | null
  /** What was posted, if the answer was refused; else empty. */
  entered: Entered
}

interface FormOf<Type extends BlockType> {
  type: Type
  /** An answer redirects to another host (`redirectUrl`), so the page's script must not submit the form. */
  leaves?: true
  /** Returns the path of the page that an answer opens, such as that of a booking, or null if the live view stays. */
  next?(app: App, sent: SentMail, block: BlockOf<Type>): Promise<string | null>
  /** Its part of the page's style and script. */
  style?: string
  script?: string
  /**
   * Returns the content of the block's form, including its button if it can still be answered. `block.props` include those of the
   * kind's `view`. Each block is a separate form, so names of inputs need not be unique on the page.
   */
  form(block: BlockOf<Type>, page: BlockPage): Html
  /** Returns the labels of the fields by name, for error messages. */
  labels?(block: BlockOf<Type>): readonly [name: string, label: string][]
  /** Returns the maximum length of each input, in characters. */
  maxLengths?(block: BlockOf<Type>): readonly number[]
  /** Returns the answer's value from the posted form. */
  valueOf(block: BlockOf<Type>, form: Entered): unknown
}

/** How the page shows a kind of interactive block. app/features.ts lists the kinds of all features. */
export type BlockForm<Type extends BlockType = BlockType> = { [Each in Type]: FormOf<Each> }[Type]

import type { Html } from '../pages/html.ts'
import type { BlockOf, BlockType } from './engagement.blocks.ts'
import type { AnswerState } from './engagement.record.ts'

/** How a block stands in the page of a live view. */
export interface BlockPage {
  /** What was answered; undefined: nothing yet. */
  state: AnswerState[string] | undefined
  /** The answer that the followed link names; it is chosen, not given. */
  chosen: string | undefined
}

/** A kind of interactive block as the page shows it (app/features.ts lists them). */
export interface BlockForm<Type extends BlockType = BlockType> {
  type: Type
  /**
   * The inside of the block's form, its button included; `block.props` are those of the kind's `view`. Names of inputs are the
   * block's own: each block is a form by itself. What needs no button any more has none.
   */
  form(block: BlockOf<Type>, page: BlockPage): Html
  /** The value of the form as it was posted. */
  valueOf(block: BlockOf<Type>, form: Readonly<Record<string, string>>): unknown
}

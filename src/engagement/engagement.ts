export { recipientActor } from './engagement.answers.ts'
export type { Answered, BlockKind, BlockOf, BlockType } from './engagement.blocks.ts'
export {
  type AnswerState,
  type InteractionKind,
  type InteractionValue,
  type NewInteraction,
  type Recorded,
  readState,
  recordInteraction,
  withdrawInteraction,
} from './engagement.record.ts'
export { type ScoreView, setScore, showScore } from './engagement.score.ts'
export { leavesOf, loadSent, type SentMail, viewUrl } from './engagement.sent.ts'
export type { BlockForm, BlockPage } from './liveview.forms.pages.ts'

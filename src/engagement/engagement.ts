export { recipientActor } from './engagement.answers.ts'
export type { Answered, BlockKind, BlockOf } from './engagement.blocks.ts'
export {
  recordInteraction,
  withdrawInteraction,
} from './engagement.record.ts'
export { setScore, showScore } from './engagement.score.ts'
export { loadSent, type SentMail, viewUrl } from './engagement.sent.ts'
export { type BlockForm, enteredInto } from './liveview.forms.pages.ts'

/*
 * engagement.*.ts have sent emails and their links, the lead score, and a project's own webhook. interactions/ has
 * answers and responses, liveview/ the hosted page and its JSON, tracking/ opens and clicks.
 */

export { recipientActor, recipientWork } from './engagement.recipient.ts'
export { setScore, showScore } from './engagement.score.ts'
export { loadSent, type SentMail, viewUrl } from './engagement.sent.ts'
export { blocks } from './interactions/answers.ts'
export type { Answered, BlockKind, BlockOf, Reader } from './interactions/blocks.ts'
export { recordInteraction, withdrawInteraction } from './interactions/interactions.record.ts'
export { type BlockForm, enteredInto } from './liveview/blocks.views.ts'

declare module '../store/work.ts' {
  interface Settings {
    /** Days for which the text of answers is kept; 0 keeps it for ever. */
    readonly responseRetentionDays: number
  }
}

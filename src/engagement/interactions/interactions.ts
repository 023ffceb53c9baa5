export { scoreAt, setScore, showScore } from '../engagement.score.ts'
export { blocks, maxTextLength } from './answers.ts'
export { type Answered, type BlockKind, type BlockOf, type BlockType, type Reader, recipientActor } from './blocks.ts'
export { type AnswerState, readState, recordInteraction, withdrawInteraction } from './interactions.record.ts'
export {
  type BlockSummary,
  dropTexts,
  type Labels,
  labelsOf,
  listResponses,
  type ProjectSummary,
  type ResponseView,
  summarizeResponses,
} from './responses.ts'

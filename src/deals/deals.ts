export { shareBoard } from './deals.board.ts'
export { changeDeal, deleteDeal, showDeal } from './deals.change.ts'
export { createDeal, dealOfKey } from './deals.create.ts'
export {
  type Board,
  type BoardStage,
  boardOf,
  type DealMoveView,
  dealHistory,
  dealOf,
  listDeals,
} from './deals.find.ts'
export { createPipeline, findPipeline, listPipelines, setDefaultPipeline } from './deals.pipelines.ts'
export type { Deal } from './deals.shapes.ts'
export {
  DealChange,
  NewDeal,
  NewPipeline,
  PipelineShape,
  type PipelineView,
  StageKind,
  type StageView,
  stageKinds,
} from './deals.shapes.ts'
export {
  addStage,
  countDeals,
  deleteStage,
  findStage,
  renameStage,
  reorderStages,
  setStageKind,
} from './deals.stages.ts'
export { dealsByDay } from './deals.stats.ts'

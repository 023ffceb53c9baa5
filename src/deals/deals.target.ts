import { invalid, notFound } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { onSharedBoard } from './deals.board.ts'
import { pipelines, stages } from './deals.columns.ts'
import { ensureDefault } from './deals.pipelines.ts'

/*
 * A transaction that puts a deal into a stage holds the board's shared lock and locks the stage (deals.board.ts). One that deletes
 * a stage or changes its kind holds the board's exclusive lock. So a deal is never in a deleted stage, and its status is always
 * the kind of its stage.
 */

const target = columns(stages, ['id', 'pipelineId', 'name', 'kind'], 's')

/** A stage, locked against deletion. */
export type TargetStage = RowOf<typeof target.types>

const stageById = preparedStatement(
  'target-stage',
  { row: target.types, parameters: types(stages, 'accountId', 'id') },
  `select ${target.list} from stages s where s.account_id = :accountId and s.id = :id and ${onSharedBoard} for key share`,
)

const firstOpen = preparedStatement(
  'target-pipeline',
  { row: target.types, parameters: types(stages, 'accountId', 'pipelineId') },
  `select ${target.list} from stages s where s.account_id = :accountId and s.pipeline_id = :pipelineId and s.kind = 'open'
     and ${onSharedBoard} order by s.position, s.id limit 1 for key share`,
)

const firstOpenOfDefault = preparedStatement(
  'target-default',
  { row: target.types, parameters: { accountId: 'text' } },
  `select ${target.list} from pipelines p join stages s on s.pipeline_id = p.id
   where p.account_id = :accountId and p.is_default and s.kind = 'open' and ${onSharedBoard}
   order by s.position, s.id limit 1 for key share of s`,
)

const noPipeline = () => notFound('There is no such pipeline')

const pipelineExists = statement(
  'pipeline-exists',
  { parameters: types(pipelines, 'accountId', 'id') },
  'select from pipelines where account_id = :accountId and id = :id',
)

const requirePipeline = async ({ sql, accountId }: Work, pipelineId: string): Promise<void> => {
  const [row] = await sql(pipelineExists, { accountId, id: pipelineId })
  if (!row) throw noPipeline()
}

/**
 * Locks and returns the stage for a new deal: `stageId`, else the first open stage of `pipelineId` or of the default pipeline.
 * Throws Problem `not_found`, or `invalid` if the stage is not in `pipelineId` (docs/reference/rules.md#deals).
 */
export const lockTargetStage = async (
  work: Work,
  { pipelineId, stageId }: { pipelineId?: string | undefined; stageId?: string | undefined },
): Promise<TargetStage> => {
  const { sql, accountId } = work
  if (stageId !== undefined) {
    if (pipelineId !== undefined) await requirePipeline(work, pipelineId)
    const [stage] = await sql(stageById, { accountId, id: stageId })
    if (!stage) throw notFound('There is no such stage')
    if (pipelineId !== undefined && stage.pipelineId !== pipelineId) {
      throw invalid('stageId must be a stage of the pipeline that pipelineId names')
    }
    return stage
  }
  if (pipelineId !== undefined) {
    const [stage] = await sql(firstOpen, { accountId, pipelineId })
    if (!stage) throw noPipeline()
    return stage
  }
  const [stage] = await sql(firstOpenOfDefault, { accountId })
  if (stage) return stage
  await ensureDefault(work)
  const [created] = await sql(firstOpenOfDefault, { accountId })
  return created!
}

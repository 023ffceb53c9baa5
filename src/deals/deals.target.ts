import { invalid, notFound } from '../lib/problem.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { onSharedBoard } from './deals.board.ts'
import { ensureDefault } from './deals.pipelines.ts'
import type { StageKind } from './deals.shapes.ts'

/*
 * A transaction that puts a deal into a stage holds the board's shared lock and locks the stage (deals.board.ts). One that deletes
 * a stage or changes its kind holds the board's exclusive lock. So a deal is never in a deleted stage, and its status is always
 * the kind of its stage.
 */

/** A stage, locked against deletion. */
export interface TargetStage {
  id: string
  pipelineId: string
  name: string
  kind: StageKind
}

const target = (name: string, from: string) =>
  preparedStatement<TargetStage>(
    name,
    { id: 'text', pipelineId: 'text', name: 'text', kind: 'text' },
    `select s.id, s.pipeline_id as "pipelineId", s.name, s.kind from ${from}`,
  )

const stageById = target(
  'target-stage',
  `stages s where s.account_id = $1 and s.id = $2 and ${onSharedBoard} for key share`,
)

const firstOpen = target(
  'target-pipeline',
  `stages s where s.account_id = $1 and s.pipeline_id = $2 and s.kind = 'open'
     and ${onSharedBoard} order by s.position, s.id limit 1 for key share`,
)

const firstOpenOfDefault = target(
  'target-default',
  `pipelines p join stages s on s.pipeline_id = p.id
   where p.account_id = $1 and p.is_default and s.kind = 'open' and ${onSharedBoard}
   order by s.position, s.id limit 1 for key share of s`,
)

const noPipeline = () => notFound('There is no such pipeline')

const pipelineExists = statement('pipeline-exists', {}, 'select from pipelines where account_id = $1 and id = $2')

const requirePipeline = async ({ sql, accountId }: Work, pipelineId: string): Promise<void> => {
  const [row] = await sql(pipelineExists, [accountId, pipelineId])
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
    const [stage] = await sql(stageById, [accountId, stageId])
    if (!stage) throw notFound('There is no such stage')
    if (pipelineId !== undefined && stage.pipelineId !== pipelineId) {
      throw invalid('stageId must be a stage of the pipeline that pipelineId names')
    }
    return stage
  }
  if (pipelineId !== undefined) {
    const [stage] = await sql(firstOpen, [accountId, pipelineId])
    if (!stage) throw noPipeline()
    return stage
  }
  const [stage] = await sql(firstOpenOfDefault, [accountId])
  if (stage) return stage
  await ensureDefault(work)
  const [created] = await sql(firstOpenOfDefault, [accountId])
  return created!
}

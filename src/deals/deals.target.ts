import { invalid, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { onSharedBoard } from './deals.board.ts'
import { ensureDefault } from './deals.pipelines.ts'
import type { StageKind } from './deals.shapes.ts'

/*
 * Who puts a deal into a stage shares the board and locks the stage (deals.board.ts); who deletes a stage or changes its kind
 * has the board alone. So a deal never stands in a stage that is gone, nor with the status of a kind that has changed.
 */

export interface Target {
  id: string
  pipelineId: string
  name: string
  kind: StageKind
}

const columns = 's.id, s.pipeline_id as "pipelineId", s.name, s.kind'

const stageById = async ({ sql, accountId }: Work, stageId: string): Promise<Target | undefined> => {
  const [stage] = await sql<Target>(
    `select ${columns} from stages s where s.account_id = $1 and s.id = $2 and ${onSharedBoard} for key share`,
    [accountId, stageId],
    'target-stage',
  )
  return stage
}

const firstOpen = async ({ sql, accountId }: Work, pipelineId: string): Promise<Target | undefined> => {
  const [stage] = await sql<Target>(
    `select ${columns} from stages s where s.account_id = $1 and s.pipeline_id = $2 and s.kind = 'open'
       and ${onSharedBoard} order by s.position, s.id limit 1 for key share`,
    [accountId, pipelineId],
    'target-pipeline',
  )
  return stage
}

const firstOpenOfDefault = async ({ sql, accountId }: Work): Promise<Target | undefined> => {
  const [stage] = await sql<Target>(
    `select ${columns} from pipelines p join stages s on s.pipeline_id = p.id
     where p.account_id = $1 and p.is_default and s.kind = 'open' and ${onSharedBoard} order by s.position, s.id limit 1 for key share of s`,
    [accountId],
    'target-default',
  )
  return stage
}

const noPipeline = () => missing('There is no such pipeline')

const demandPipeline = async ({ sql, accountId }: Work, pipelineId: string): Promise<void> => {
  const [row] = await sql('select 1 from pipelines where account_id = $1 and id = $2', [accountId, pipelineId])
  if (!row) throw noPipeline()
}

/**
 * The stage for a new deal: the named one, else the first open one of the named or the default pipeline. Throws Problem
 * `missing`, or `invalid` for a stage of another pipeline than the one named (decisions.md, Deals).
 */
export const targetOf = async (
  work: Work,
  { pipelineId, stageId }: { pipelineId?: string | undefined; stageId?: string | undefined },
): Promise<Target> => {
  if (stageId !== undefined) {
    if (pipelineId !== undefined) await demandPipeline(work, pipelineId)
    const stage = await stageById(work, stageId)
    if (!stage) throw missing('There is no such stage')
    if (pipelineId !== undefined && stage.pipelineId !== pipelineId) {
      throw invalid('stageId must be a stage of the pipeline that pipelineId names')
    }
    return stage
  }
  if (pipelineId !== undefined) {
    const stage = await firstOpen(work, pipelineId)
    if (!stage) throw noPipeline()
    return stage
  }
  const stage = await firstOpenOfDefault(work)
  if (stage) return stage
  await ensureDefault(work)
  return (await firstOpenOfDefault(work))!
}

import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { conflict, invalid, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { takeBoard } from './deals.board.ts'
import { moveAll } from './deals.change.ts'
import { findPipeline, listPipelines } from './deals.pipelines.ts'
import { Name, type PipelineView, type StageKind, type StageView } from './deals.shapes.ts'

/*
 * A pipeline keeps at least one open stage: whoever changes stages holds the pipeline's lock from before it looks. Where a
 * stage goes or changes its kind, the board is taken before (deals.board.ts).
 */

/** A stage with the pipeline that it stands in. */
export interface FoundStage extends StageView {
  pipeline: PipelineView
}

const pick = (stages: readonly FoundStage[], ref: string): FoundStage[] => {
  const tests = [
    (stage: FoundStage) => stage.id === ref,
    (stage: FoundStage) => stage.name === ref,
    (stage: FoundStage) => stage.name.toLowerCase() === ref.toLowerCase(),
  ]
  for (const test of tests) {
    const found = stages.filter(test)
    if (found.length > 0) return found
  }
  return []
}

/** Of stages in several pipelines those in the one that is near, else those in the default one, else all. */
const nearest = (stages: readonly FoundStage[], nearId: string | undefined): readonly FoundStage[] => {
  const near = stages.filter(({ pipeline }) => pipeline.id === nearId)
  if (near.length > 0) return near
  const ofDefault = stages.filter(({ pipeline }) => pipeline.isDefault)
  return ofDefault.length > 0 ? ofDefault : stages
}

/**
 * By id, else by name, of one pipeline (id or name) or of all. A name that stands in several is that of the pipeline
 * `nearId`, else of the default one. Throws Problem `missing`, or `invalid` where it stands in several but in neither.
 */
export const findStage = async (
  work: Work,
  ref: string,
  pipelineRef?: string,
  nearId?: string,
): Promise<FoundStage> => {
  const pipelines = pipelineRef === undefined ? await listPipelines(work) : [await findPipeline(work, pipelineRef)]
  const stages = pipelines.flatMap((pipeline) => pipeline.stages.map((stage) => ({ ...stage, pipeline })))
  const found = nearest(pick(stages, ref), nearId)
  if (found.length > 1) {
    const ids = found.map(({ id, pipeline }) => `${id} (${pipeline.name})`).join(', ')
    throw invalid(`There is more than one stage ${ref}: ${ids}`, { hint: 'name the stage by its id, or its pipeline' })
  }
  if (!found[0]) {
    const where = pipelineRef === undefined ? '' : ` in ${pipelines[0]!.name}`
    throw missing(`There is no stage ${ref}${where}`, { hint: 'svc pipelines list' })
  }
  return found[0]
}

/** Locks the pipeline against changes of its stages and gives it as it is then. */
const lockPipeline = async (work: Work, id: string): Promise<PipelineView> => {
  await work.sql('select 1 from pipelines where account_id = $1 and id = $2 for no key update', [work.accountId, id])
  return findPipeline(work, id)
}

/** All three locks, and the stage as it is then. Throws Problem `missing` where it is gone meanwhile. */
const lockStage = async (work: Work, { id, pipeline }: FoundStage): Promise<FoundStage> => {
  await takeBoard(work)
  await lockPipeline(work, pipeline.id)
  // Nobody holds it. But a key share sees no mere update: by this lock who waited for the board finds the stage as it is then.
  await work.sql('select 1 from stages where account_id = $1 and id = $2 for update', [work.accountId, id])
  return findStage(work, id, pipeline.id)
}

const demandOtherOpen = ({ id, pipeline }: FoundStage): void => {
  const isLast = !pipeline.stages.some((stage) => stage.kind === 'open' && stage.id !== id)
  if (isLast) throw conflict(`${pipeline.name} must keep at least one open stage`)
}

const demandFreeName = (pipeline: PipelineView, name: string, exceptId?: string): void => {
  if (pipeline.stages.some((stage) => stage.name === name && stage.id !== exceptId)) {
    throw conflict(`${pipeline.name} already has a stage named ${name}`)
  }
}

/** Adds a stage at the end of the board. Throws Problem `missing`, `invalid`, or `conflict` where the name is taken. */
export const addStage = async (
  work: Work,
  pipelineRef: string,
  input: { name: string; kind: StageKind },
): Promise<PipelineView> => {
  const name = parse(Name, input.name)
  const pipeline = await lockPipeline(work, (await findPipeline(work, pipelineRef)).id)
  demandFreeName(pipeline, name)
  await work.sql(
    `insert into stages (id, account_id, pipeline_id, name, kind, position)
     select $1, $2, $3, $4, $5, max(position) + 1 from stages where account_id = $2 and pipeline_id = $3`,
    [newId('stg', work.now.getTime()), work.accountId, pipeline.id, name, input.kind],
  )
  return findPipeline(work, pipeline.id)
}

/** Throws Problem `invalid`, or `conflict` where the name is taken in the pipeline. */
export const renameStage = async (work: Work, found: FoundStage, newName: string): Promise<PipelineView> => {
  const name = parse(Name, newName)
  const pipeline = await lockPipeline(work, found.pipeline.id)
  demandFreeName(pipeline, name, found.id)
  await work.sql('update stages set name = $3 where account_id = $1 and id = $2', [work.accountId, found.id, name])
  return findPipeline(work, pipeline.id)
}

/** Puts the named stages (ids or names) first, in that order; the others follow in theirs. Throws Problem `missing`. */
export const reorderStages = async (
  work: Work,
  pipelineRef: string,
  refs: readonly string[],
): Promise<PipelineView> => {
  const pipeline = await lockPipeline(work, (await findPipeline(work, pipelineRef)).id)
  const ids: string[] = []
  for (const ref of refs) ids.push((await findStage(work, ref, pipeline.id)).id)
  const order = [...new Set([...ids, ...pipeline.stages.map(({ id }) => id)])]
  await work.sql(
    `update stages s set position = o.position from unnest($2::text[]) with ordinality as o(id, position)
     where s.account_id = $1 and s.id = o.id`,
    [work.accountId, order],
  )
  return findPipeline(work, pipeline.id)
}

/**
 * Changes a stage's kind, and with it the status of its deals. They have not moved: no history, no event. Throws Problem
 * `conflict` where it is the pipeline's last open stage.
 */
export const setStageKind = async (
  work: Work,
  found: FoundStage,
  kind: StageKind,
): Promise<{ pipeline: PipelineView; deals: number }> => {
  const stage = await lockStage(work, found)
  if (kind !== 'open') demandOtherOpen(stage)
  const { sql, accountId, now } = work
  await sql('update stages set kind = $3 where account_id = $1 and id = $2', [accountId, stage.id, kind])
  const [changed] = await sql<{ deals: number }>(
    `with changed as (
       update deals set status = $3, updated_at = $4 where account_id = $1 and stage_id = $2 and status <> $3 returning 1
     )
     select count(*) as deals from changed`,
    [accountId, stage.id, kind, now],
  )
  return { pipeline: await findPipeline(work, stage.pipeline.id), deals: changed!.deals }
}

/** How many deals stand in the stage. */
export const countDeals = async ({ sql, accountId }: Work, stageId: string): Promise<number> => {
  const [row] = await sql<{ deals: number }>(
    'select count(*) as deals from deals where account_id = $1 and stage_id = $2',
    [accountId, stageId],
  )
  return row!.deals
}

/**
 * Deletes a stage. Its deals move to `to`, a stage of the same pipeline, each with its history entry and its
 * `deal.stage_changed`; gives how many. Throws Problem `invalid` where it has deals and `to` is left out, `conflict` where
 * it is the pipeline's last open stage.
 */
export const deleteStage = async (
  work: Work,
  found: FoundStage,
  to: FoundStage | null,
): Promise<{ pipeline: PipelineView; moved: number }> => {
  const stage = await lockStage(work, found)
  demandOtherOpen(stage)
  const deals = await countDeals(work, stage.id)
  if (deals > 0 && to === null) throw invalid(`${stage.name} has ${deals} deals: say where they go`)
  const moved = to === null ? 0 : await moveTo(work, stage, to)
  await work.sql('delete from stages where account_id = $1 and id = $2', [work.accountId, stage.id])
  return { pipeline: await findPipeline(work, stage.pipeline.id), moved }
}

const moveTo = (work: Work, stage: FoundStage, to: FoundStage): Promise<number> => {
  // As it is under the pipeline's lock: its kind can't change any more.
  const now = stage.pipeline.stages.find(({ id }) => id === to.id)
  if (!now || now.id === stage.id)
    throw invalid(`Deals of ${stage.name} can only move to another stage of its pipeline`)
  return moveAll(work, stage.id, { ...now, pipelineId: stage.pipeline.id })
}

import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { conflict, invalid, notFound, shown } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { lockBoard } from './deals.board.ts'
import { moveDeals } from './deals.change.ts'
import { deals, pipelines, stages } from './deals.columns.ts'
import type { Stage } from './deals.entities.ts'
import { findPipeline, listPipelines } from './deals.pipelines.ts'
import { Name, type PipelineView, type StageKind, type StageView } from './deals.shapes.ts'
import { tallyingDeals } from './deals.stats.ts'

/*
 * A pipeline always has at least one open stage: every change of stages locks the pipeline before it reads them. Before a stage is
 * deleted or changes its kind, the board is locked too (deals.board.ts).
 */

interface FoundStage extends StageView {
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

/** Returns the stages of the preferred pipeline, else of the default pipeline, else all. */
const preferred = (stages: readonly FoundStage[], preferredId: string | undefined): readonly FoundStage[] => {
  const ofPreferred = stages.filter(({ pipeline }) => pipeline.id === preferredId)
  if (ofPreferred.length > 0) return ofPreferred
  const ofDefault = stages.filter(({ pipeline }) => pipeline.isDefault)
  return ofDefault.length > 0 ? ofDefault : stages
}

const stageIn = (pipelines: readonly PipelineView[], ref: string, where = '', preferredId?: string): FoundStage => {
  const stages = pipelines.flatMap((pipeline) => pipeline.stages.map((stage) => ({ ...stage, pipeline })))
  const found = preferred(pick(stages, ref), preferredId)
  if (found.length > 1) {
    const ids = found.map(({ id, pipeline }) => `${id} (${pipeline.name})`).join(', ')
    throw invalid(`There is more than one stage ${shown(ref)}: ${ids}`, {
      hint: 'name the stage by its id, or its pipeline',
    })
  }
  if (!found[0]) throw notFound(`There is no stage ${shown(ref)}${where}`, { hint: 'svc pipelines list' })
  return found[0]
}

/** Returns a stage of a pipeline by id, else by name. Throws Problem `not_found`, or `invalid` for an ambiguous name. */
const stageOf = (pipeline: PipelineView, ref: string): FoundStage => stageIn([pipeline], ref, ` in ${pipeline.name}`)

/**
 * Returns a stage by id, else by name, of one pipeline (id or name) or of all. A name that several pipelines have refers to the
 * pipeline `preferredId`, else to the default pipeline. Throws Problem `not_found`, or `invalid` if the name stays ambiguous.
 */
export const findStage = async (
  work: Work,
  ref: string,
  pipelineRef?: string,
  preferredId?: string,
): Promise<FoundStage> =>
  pipelineRef === undefined
    ? stageIn(await listPipelines(work), ref, '', preferredId)
    : stageOf(await findPipeline(work, pipelineRef), ref)

const lockRow = statement(
  'lock-pipeline',
  { parameters: types(pipelines, 'accountId', 'id') },
  'select from pipelines where account_id = :accountId and id = :id for no key update',
)

/** Locks the pipeline against changes of its stages. */
const lockPipeline = async ({ sql, accountId }: Work, id: string): Promise<void> => {
  await sql(lockRow, { accountId, id })
}

/** MikroORM and the entities of pipelines. Both are loaded at the first change of a stage: reading stages needs neither. */
const entitiesOf = (work: Work) => work.em(import('./deals.entities.ts'))

/** Locks the pipeline, and returns its stages as entities in board order. */
const lockStages = async (work: Work, pipelineId: string): Promise<Stage[]> => {
  await lockPipeline(work, pipelineId)
  const [em, { Stage }] = await entitiesOf(work)
  const orderBy = { position: 'asc', id: 'asc' } as const
  return em.find(Stage, { pipeline: pipelineId }, { populate: ['pipeline'], orderBy, refresh: true })
}

/** Writes the changed stages and returns their pipeline. */
const savedPipeline = async (work: Work, pipelineId: string): Promise<PipelineView> => {
  const [em] = await entitiesOf(work)
  await em.flush()
  return findPipeline(work, pipelineId)
}

// No other transaction has this lock. But `for key share` ignores a plain update: because of this lock, a transaction that waited
// for the board rereads the stage.
const lockStageRow = statement(
  'lock-stage',
  { parameters: types(stages, 'accountId', 'id') },
  'select from stages where account_id = :accountId and id = :id for update',
)

/** Locks the board, the pipeline and the stage, and returns the stage. Throws Problem `not_found` if it was deleted. */
const lockStage = async (work: Work, { id, pipeline }: FoundStage): Promise<FoundStage> => {
  await lockBoard(work)
  await lockPipeline(work, pipeline.id)
  await work.sql(lockStageRow, { accountId: work.accountId, id })
  return findStage(work, id, pipeline.id)
}

const requireOtherOpen = ({ id, pipeline }: FoundStage): void => {
  const isLast = !pipeline.stages.some((stage) => stage.kind === 'open' && stage.id !== id)
  if (isLast) throw conflict(`${pipeline.name} must keep at least one open stage`)
}

const requireFreeName = (stages: readonly Stage[], name: string, exceptId?: string): void => {
  const namesake = stages.find((stage) => stage.name === name && stage.id !== exceptId)
  if (namesake) throw conflict(`${namesake.pipeline.name} already has a stage named ${shown(name)}`)
}

/** Adds a stage at the end of the board. Throws Problem `not_found`, `invalid`, or `conflict` if the name is taken. */
export const addStage = async (
  work: Work,
  pipelineRef: string,
  input: { name: string; kind: StageKind },
): Promise<PipelineView> => {
  const name = parse(Name, input.name, 'name')
  const { id: pipelineId } = await findPipeline(work, pipelineRef)
  const stages = await lockStages(work, pipelineId)
  requireFreeName(stages, name)
  const { pipeline, position } = stages.at(-1)!
  const [em, { Stage }] = await entitiesOf(work)
  const { accountId, now } = work
  em.create(Stage, {
    id: newId('stg', now.getTime()),
    accountId,
    pipeline,
    name,
    kind: input.kind,
    position: position + 1,
  })
  return savedPipeline(work, pipelineId)
}

/** Renames a stage. Throws Problem `invalid`, or `conflict` if the name is taken in the pipeline. */
export const renameStage = async (work: Work, found: FoundStage, newName: string): Promise<PipelineView> => {
  const name = parse(Name, newName, 'name')
  const stages = await lockStages(work, found.pipeline.id)
  requireFreeName(stages, name, found.id)
  for (const stage of stages) if (stage.id === found.id) stage.name = name
  return savedPipeline(work, found.pipeline.id)
}

/** Moves the given stages (ids or names) to the front in that order; the others keep their order. Throws Problem `not_found`. */
export const reorderStages = async (
  work: Work,
  pipelineRef: string,
  refs: readonly string[],
): Promise<PipelineView> => {
  const { id: pipelineId } = await findPipeline(work, pipelineRef)
  const stages = await lockStages(work, pipelineId)
  const { id, name, isDefault } = stages[0]!.pipeline
  const pipeline = {
    id,
    name,
    isDefault,
    stages: stages.map((stage) => ({ id: stage.id, name: stage.name, kind: stage.kind })),
  }
  const first = refs.map((ref) => stageOf(pipeline, ref).id)
  const order = [...new Set([...first, ...stages.map(({ id }) => id)])]
  for (const stage of stages) stage.position = order.indexOf(stage.id) + 1
  return savedPipeline(work, pipelineId)
}

const updateStatuses = statement(
  'set-status-of-stage',
  {
    row: { deals: 'int8' },
    parameters: { accountId: 'text', id: 'text', ...types(stages, 'kind'), now: 'timestamptz' },
  },
  `with tallied as (
     ${tallyingDeals(
       `select status, currency, value, :kind, currency, value from deals
        where account_id = :accountId and stage_id = :id and status <> :kind`,
     )}
   ), changed as (
     update deals set status = :kind, updated_at = :now
     where account_id = :accountId and stage_id = :id and status <> :kind returning 1
   )
   select count(*) as deals from changed`,
)

/**
 * Changes a stage's kind and the status of its deals. Because the deals do not move, there is no history entry and no event.
 * `deals` in the result is the number of changed deals. Throws Problem `conflict` for the last open stage of the pipeline.
 */
export const setStageKind = async (
  work: Work,
  found: FoundStage,
  kind: StageKind,
): Promise<{ pipeline: PipelineView; deals: number }> => {
  const stage = await lockStage(work, found)
  if (kind !== 'open') requireOtherOpen(stage)
  const { sql, accountId, now } = work
  const [em, { Stage }] = await entitiesOf(work)
  await em.nativeUpdate(Stage, { id: stage.id }, { kind })
  const [changed] = await sql(updateStatuses, { accountId, id: stage.id, kind, now })
  return { pipeline: await findPipeline(work, stage.pipeline.id), deals: changed!.deals }
}

const countOfStage = statement(
  'count-deals-of-stage',
  { row: { deals: 'int8' }, parameters: types(deals, 'accountId', 'stageId') },
  'select count(*) as deals from deals where account_id = :accountId and stage_id = :stageId',
)

export const countDeals = async ({ sql, accountId }: Work, stageId: string): Promise<number> => {
  const [row] = await sql(countOfStage, { accountId, stageId })
  return row!.deals
}

/**
 * Deletes a stage. Its deals move to `to`, a stage of the same pipeline, each with a history entry and a `deal.stage_changed`
 * event; returns their number. Throws Problem `invalid` if the stage has deals and `to` is null, `conflict` for the last open
 * stage of the pipeline.
 */
export const deleteStage = async (
  work: Work,
  found: FoundStage,
  to: FoundStage | null,
): Promise<{ pipeline: PipelineView; moved: number }> => {
  const stage = await lockStage(work, found)
  requireOtherOpen(stage)
  const deals = await countDeals(work, stage.id)
  if (deals > 0 && to === null)
    throw invalid(`${stage.name} has ${quantity(deals, 'deal')}: name the stage that gets them`)
  const moved = to === null ? 0 : await moveTo(work, stage, to)
  const [em, { Stage }] = await entitiesOf(work)
  await em.nativeDelete(Stage, { id: stage.id })
  return { pipeline: await findPipeline(work, stage.pipeline.id), moved }
}

const moveTo = (work: Work, stage: FoundStage, to: FoundStage): Promise<number> => {
  // Read under the pipeline's lock, so its kind is final.
  const current = stage.pipeline.stages.find(({ id }) => id === to.id)
  if (!current || current.id === stage.id)
    throw invalid(`Deals of ${stage.name} can only move to another stage of its pipeline`)
  return moveDeals(work, stage.id, { ...current, pipelineId: stage.pipeline.id })
}

import type { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { conflict, noSuch, shown } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { Stage } from './deals.entities.ts'
import { NewPipeline, type PipelineView } from './deals.shapes.ts'

/** The first pipeline of every account, and the default stages of a new pipeline (docs/reference/rules.md#pipelines). */
const defaultName = 'Sales'
const defaultStages: PipelineInput['stages'] = [
  { name: 'New', kind: 'open' },
  { name: 'Qualified', kind: 'open' },
  { name: 'Proposal', kind: 'open' },
  { name: 'Won', kind: 'won' },
  { name: 'Lost', kind: 'lost' },
]

/** The order of a pipeline's stages on the board. */
export const boardOrder = { position: 'asc', id: 'asc' } as const

interface PipelineInput {
  name: string
  isDefault: boolean
  stages: { name: string; kind: 'open' | 'won' | 'lost' }[]
}

/** Inserts a pipeline and returns its id; null if one exists. Waits for a concurrent insert of the same one. */
const insertPipeline = async (work: Work, { name, isDefault, stages }: PipelineInput): Promise<string | null> => {
  const { sql, accountId, now } = work
  const id = newId('pipe', now.getTime())
  const rows = await sql(
    `with inserted as (
       insert into pipelines (id, account_id, name, is_default, created_at) values ($2, $1, $3, $4, $5)
       on conflict do nothing returning id
     )
     insert into stages (id, account_id, pipeline_id, name, kind, position)
     select s.id, $1, inserted.id, s.name, s.kind, s.position
     from inserted cross join unnest($6::text[], $7::text[], $8::text[]) with ordinality as s(id, name, kind, position)
     returning id`,
    [
      accountId,
      id,
      name,
      isDefault,
      now,
      stages.map(() => newId('stg', now.getTime())),
      stages.map((stage) => stage.name),
      stages.map((stage) => stage.kind),
    ],
  )
  return rows.length > 0 ? id : null
}

/** Creates the default pipeline if the account has none. Concurrent calls create one. */
export const ensureDefault = async (work: Work): Promise<void> => {
  await insertPipeline(work, { name: defaultName, isDefault: true, stages: defaultStages })
}

/** MikroORM and the entities of pipelines. Both are loaded at the first call: processes that only write deals need neither. */
export const entitiesOf = (work: Work) => work.em(import('./deals.entities.ts'))

/** Returns the pipelines of stages that are in board order. */
export const viewPipelines = (stages: readonly Stage[]): PipelineView[] =>
  [...Map.groupBy(stages, ({ pipeline }) => pipeline)].map(([{ id, name, isDefault }, own]) => ({
    id,
    name,
    isDefault,
    stages: own.map((stage) => ({ id: stage.id, name: stage.name, kind: stage.kind })),
  }))

const readPipelines = async (work: Work): Promise<PipelineView[]> => {
  const [em, { Stage }] = await entitiesOf(work)
  const orderBy = { pipeline: { isDefault: 'desc', id: 'asc' }, ...boardOrder } as const
  // Without the identity map, so that a second read in the unit of work sees what SQL has changed since.
  return viewPipelines(await em.find(Stage, {}, { populate: ['pipeline'], orderBy, disableIdentityMap: true }))
}

/** Returns the pipelines, the default one first. Creates it if the account has none (GET /pipelines). */
export const listPipelines = async (work: Work): Promise<PipelineView[]> => {
  const pipelines = await readPipelines(work)
  if (pipelines.length > 0) return pipelines
  await ensureDefault(work)
  return readPipelines(work)
}

/** Returns a pipeline by id, else by name; without `ref` the default pipeline. Throws Problem `not_found`. */
export const findPipeline = async (work: Work, ref?: string): Promise<PipelineView> => {
  const pipelines = await listPipelines(work)
  if (ref === undefined) return pipelines[0]!
  const found = pipelines.find(({ id }) => id === ref) ?? pipelines.find(({ name }) => name === ref)
  if (!found) throw noSuch('pipeline', ref, { hint: 'svc pipelines list' })
  return found
}

/** Creates a pipeline, by default with five stages. Throws Problem `invalid`, or `conflict` if the name is taken. */
export const createPipeline = async (work: Work, input: z.input<typeof NewPipeline>): Promise<PipelineView> => {
  const { name, stages = defaultStages } = parse(NewPipeline, input)
  await ensureDefault(work)
  const id = await insertPipeline(work, { name, isDefault: false, stages })
  if (!id) throw conflict(`There is already a pipeline named ${shown(name)}`)
  return findPipeline(work, id)
}

/** Makes a pipeline (id or name) the default for new deals. Throws Problem `not_found`. */
export const setDefaultPipeline = async (work: Work, ref: string): Promise<PipelineView> => {
  const { sql, accountId } = work
  const { id } = await findPipeline(work, ref)
  // Serialises concurrent calls: between the two updates the account has no default pipeline.
  await sql('select 1 from pipelines where account_id = $1 order by id for no key update', [accountId])
  await sql('update pipelines set is_default = false where account_id = $1 and is_default and id <> $2', [
    accountId,
    id,
  ])
  await sql('update pipelines set is_default = true where account_id = $1 and id = $2', [accountId, id])
  return findPipeline(work, id)
}

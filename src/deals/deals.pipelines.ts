import type { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { conflict, noSuch, shown } from '../lib/problem.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { pipelines } from './deals.columns.ts'
import { NewPipeline, type PipelineView, type StageView } from './deals.shapes.ts'

/** The first pipeline of every account, and the default stages of a new pipeline (docs/reference/rules.md#pipelines). */
const defaultName = 'Sales'
const defaultStages: PipelineInput['stages'] = [
  { name: 'New', kind: 'open' },
  { name: 'Qualified', kind: 'open' },
  { name: 'Proposal', kind: 'open' },
  { name: 'Won', kind: 'won' },
  { name: 'Lost', kind: 'lost' },
]

interface PipelineInput {
  name: string
  isDefault: boolean
  stages: { name: string; kind: 'open' | 'won' | 'lost' }[]
}

const pipelineColumns = columns(pipelines, ['accountId', 'id', 'name', 'isDefault', 'createdAt'])

const insertWithStages = statement(
  'insert-pipeline',
  {
    row: { id: 'text' },
    parameters: { ...pipelineColumns.types, stageIds: '_text', stageNames: '_text', stageKinds: '_text' },
  },
  `with inserted as (
     insert into pipelines (${pipelineColumns.names}) values (${pipelineColumns.values}) on conflict do nothing returning id
   )
   insert into stages (id, account_id, pipeline_id, name, kind, position)
   select s.id, :accountId, inserted.id, s.name, s.kind, s.position
   from inserted cross join unnest(:stageIds::text[], :stageNames::text[], :stageKinds::text[]) with ordinality as s(id, name, kind, position)
   returning id`,
)

/** Inserts a pipeline and returns its id, or null if one exists. Waits for a concurrent insert of the same one. */
const insertPipeline = async (work: Work, { name, isDefault, stages }: PipelineInput): Promise<string | null> => {
  const { sql, accountId, now } = work
  const id = newId('pipe', now.getTime())
  const rows = await sql(insertWithStages, {
    accountId,
    id,
    name,
    isDefault,
    createdAt: now,
    stageIds: stages.map(() => newId('stg', now.getTime())),
    stageNames: stages.map((stage) => stage.name),
    stageKinds: stages.map((stage) => stage.kind),
  })
  return rows.length > 0 ? id : null
}

/** Creates the default pipeline if the account has none. Concurrent calls create one. */
export const ensureDefault = async (work: Work): Promise<void> => {
  await insertPipeline(work, { name: defaultName, isDefault: true, stages: defaultStages })
}

const readPipelines = preparedStatement(
  'list-pipelines',
  {
    row: { ...types(pipelines, 'id', 'name', 'isDefault'), stages: typed<StageView[]>('json') },
    parameters: { accountId: 'text' },
  },
  `select p.id, p.name, p.is_default as "isDefault",
     json_agg(json_build_object('id', s.id, 'name', s.name, 'kind', s.kind) order by s.position, s.id) as stages
   from pipelines p join stages s on s.pipeline_id = p.id
   where p.account_id = :accountId group by p.id order by p.is_default desc, p.id`,
)

/** Returns the pipelines, the default one first. Creates it if the account has none (GET /pipelines). */
export const listPipelines = async (work: Work): Promise<PipelineView[]> => {
  const read = () => work.sql(readPipelines, { accountId: work.accountId })
  const pipelines = await read()
  if (pipelines.length > 0) return pipelines
  await ensureDefault(work)
  return read()
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

// Serialises concurrent calls: between the two updates the account has no default pipeline.
const lockPipelines = statement(
  'lock-pipelines',
  { parameters: { accountId: 'text' } },
  'select from pipelines where account_id = :accountId order by id for no key update',
)

/** Makes a pipeline (id or name) the default for new deals. Throws Problem `not_found`. */
export const setDefaultPipeline = async (work: Work, ref: string): Promise<PipelineView> => {
  const { id } = await findPipeline(work, ref)
  await work.sql(lockPipelines, { accountId: work.accountId })
  const [em, { Pipeline }] = await work.em(import('./deals.entities.ts'))
  await em.nativeUpdate(Pipeline, { isDefault: true, id: { $ne: id } }, { isDefault: false })
  await em.nativeUpdate(Pipeline, { id }, { isDefault: true })
  return findPipeline(work, id)
}

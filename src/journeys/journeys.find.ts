import { z } from 'zod'
import { epochMs } from '../lib/common-shapes.ts'
import { lockKey } from '../lib/locks.ts'
import { noSuch, notFound } from '../lib/problem.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import type { Definition, TriggerKind } from './definition/definition.schema.ts'
import { journeys, journeyVersions } from './journeys.columns.ts'

/** Journey (docs/reference/api.md#journey); times in epoch ms. */
export const JourneyShape = z
  .object({
    id: z.string().describe('Id of the journey'),
    name: z.string().describe('Name of the journey'),
    enabled: z.boolean().describe('Whether contacts can enter it'),
    triggerKind: z.string().describe('What starts it; `api`: a call of `POST /journeys/{id}/trigger`'),
    createdAt: epochMs('When it was created'),
    updatedAt: epochMs('When it last changed'),
  })
  .meta({ id: 'Journey', description: 'A journey: steps that a contact takes' })
export type JourneyView = z.output<typeof JourneyShape>

/** A journey with its newest version, which contacts enter. */
export interface JourneyDetail extends JourneyView {
  version: number
  definition: Definition
}

const shown = columns(journeys, ['id', 'name', 'enabled', 'triggerKind', 'createdAt', 'updatedAt'], 'j')

const readJourneys = preparedStatement(
  'list-journeys',
  { row: shown.types, parameters: { accountId: 'text', triggerKind: 'text?' } },
  `select ${shown.list} from journeys j where j.account_id = :accountId and (:triggerKind::text is null or j.trigger_kind = :triggerKind)
   order by j.updated_at desc, j.id desc`,
)

/** Returns the journeys, most recently updated first, optionally only those of one trigger kind (GET /journeys). */
export const listJourneys = async ({ sql, accountId }: AccountSql, triggerKind?: string): Promise<JourneyView[]> =>
  (await sql(readJourneys, { accountId, triggerKind: triggerKind ?? null })).map(inEpochMs)

const readName = preparedStatement(
  'journey-name',
  { row: { name: 'text' }, parameters: { accountId: 'text', id: 'text' } },
  'select name from journeys where account_id = :accountId and id = :id',
)

/** Returns the name of a journey, or an empty text if it was deleted. */
export const nameOfJourney = async ({ sql, accountId }: AccountSql, id: string): Promise<string> =>
  (await sql(readName, { accountId, id }))[0]?.name ?? ''

const readNamed = statement(
  'journeys-named',
  {
    row: { ...shown.types, version: 'int4', definition: journeyVersions.columns.definition },
    parameters: { accountId: 'text', id: 'text?', name: 'text' },
  },
  `select ${shown.list}, j.version, v.definition from journeys j
   join journey_versions v on v.account_id = j.account_id and v.journey_id = j.id and v.version = j.version
   where j.account_id = :accountId and (j.id = :id or j.name = :name) order by j.id = :id desc`,
)

/** Returns the journey with the id, then the journey with the name: at most two. */
export const journeysNamed = async (
  { sql, accountId }: AccountSql,
  { id, name }: { id: string | null; name: string },
): Promise<JourneyDetail[]> => {
  const rows = await sql(readNamed, { accountId, id, name })
  return rows.map(inEpochMs)
}

/** Returns a journey by id, else by name. Throws Problem `not_found`. */
export const findJourney = async (reader: AccountSql, ref: string): Promise<JourneyDetail> => {
  const [journey] = await journeysNamed(reader, { id: ref, name: ref })
  if (!journey) throw noSuch('journey', ref, { hint: 'svc journeys list' })
  return journey
}

const open = {
  ...columns(journeys, ['id', 'enabled', 'version']).types,
  triggerKind: typed<TriggerKind>('text'),
  definition: journeyVersions.columns.definition,
} as const
/** A journey with its newest version, locked so that no other transaction changes or disables it. */
export type OpenJourney = RowOf<typeof open>

const lockVersion = preparedStatement(
  'lock-journey',
  {
    row: open,
    parameters: { accountId: 'text', id: 'text' },
  },
  `select j.id, j.enabled, j.trigger_kind as "triggerKind", j.version, v.definition from journeys j
   join journey_versions v on v.account_id = j.account_id and v.journey_id = j.id and v.version = j.version
   where j.account_id = :accountId and j.id = :id for share of j`,
)

/** Locks a journey in share mode and returns it. Throws Problem `not_found`, also for a journey of another account. */
export const lockJourney = async ({ sql, accountId }: AccountSql, id: string): Promise<OpenJourney> => {
  const [journey] = await sql(lockVersion, { accountId, id })
  if (!journey) throw notFound('There is no such journey')
  return journey
}

const lockJourneys = statement(
  'lock-journeys',
  { row: { locked: 'void' }, parameters: { accountId: 'text' } },
  `select pg_advisory_xact_lock(${lockKey('journeys', ':accountId')}) as locked`,
)

/** Serialises changes of an account's journeys by files, and deletions: they read the existing journeys before they write. */
export const lockFiles = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(lockJourneys, { accountId })
}

/** Enables or disables a journey. A disabled journey takes no new contacts; its open runs continue. Throws Problem `not_found`. */
export const switchJourney = async (work: Work, ref: string, enabled: boolean): Promise<JourneyView> => {
  const { id } = await findJourney(work, ref)
  const [em, { Journey }] = await work.em(import('./journeys.entities.ts'))
  await em.nativeUpdate(Journey, { id, enabled: !enabled }, { enabled, updatedAt: work.now })
  const { version, definition, ...journey } = await findJourney(work, id)
  return journey
}

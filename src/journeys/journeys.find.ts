import { z } from 'zod'
import { missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { Definition, TriggerKind } from './journeys.definition.ts'

type Reader = Pick<Work, 'sql' | 'accountId'>

/** The Journey of api.md section 2; times in epoch ms. */
export const JourneyShape = z
  .object({
    id: z.string(),
    name: z.string(),
    enabled: z.boolean(),
    triggerKind: z.string(),
    createdAt: z.int().meta({ description: 'epoch ms' }),
    updatedAt: z.int().meta({ description: 'epoch ms' }),
  })
  .meta({ id: 'Journey' })
export type JourneyView = z.output<typeof JourneyShape>

/** With the version that contacts enter now. */
export interface JourneyDetail extends JourneyView {
  version: number
  definition: Definition
}

type Row<View> = Omit<View, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

const columns = `j.id, j.name, j.enabled, j.trigger_kind as "triggerKind", j.created_at as "createdAt",
  j.updated_at as "updatedAt"`

const view = ({ id, name, enabled, triggerKind, createdAt, updatedAt }: Row<JourneyView>): JourneyView => ({
  id,
  name,
  enabled,
  triggerKind,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

/** Most recently updated first; those of one trigger kind, where it is given (GET /journeys). */
export const listJourneys = async ({ sql, accountId }: Reader, triggerKind?: string): Promise<JourneyView[]> =>
  (
    await sql<Row<JourneyView>>(
      `select ${columns} from journeys j where j.account_id = $1 and ($2::text is null or j.trigger_kind = $2)
       order by j.updated_at desc, j.id desc`,
      [accountId, triggerKind ?? null],
      'list-journeys',
    )
  ).map(view)

/** The journeys, of which there are at most two, that have the id or the name; that with the id first. */
export const journeysNamed = async (
  { sql, accountId }: Reader,
  { id, name }: { id: string | null; name: string },
): Promise<JourneyDetail[]> => {
  const rows = await sql<Row<JourneyDetail>>(
    `select ${columns}, j.version, v.definition from journeys j
     join journey_versions v on v.account_id = j.account_id and v.journey_id = j.id and v.version = j.version
     where j.account_id = $1 and (j.id = $2 or j.name = $3) order by j.id = $2 desc`,
    [accountId, id, name],
  )
  return rows.map((row) => ({ ...view(row), version: row.version, definition: row.definition }))
}

/** By id, else by name. Throws Problem `missing`. */
export const findJourney = async (reader: Reader, ref: string): Promise<JourneyDetail> => {
  const [journey] = await journeysNamed(reader, { id: ref, name: ref })
  if (!journey) throw missing(`There is no journey ${ref}`, { hint: 'svc journeys list' })
  return journey
}

/** A journey as a contact is to enter it now, locked against being changed or disabled meanwhile. */
export interface OpenJourney {
  id: string
  enabled: boolean
  triggerKind: TriggerKind
  version: number
  definition: Definition
}

/** By id, share-locked. Throws Problem `missing`, for another account's journey just as for none. */
export const lockJourney = async ({ sql, accountId }: Reader, id: string): Promise<OpenJourney> => {
  const [journey] = await sql<OpenJourney>(
    `select j.id, j.enabled, j.trigger_kind as "triggerKind", j.version, v.definition from journeys j
     join journey_versions v on v.account_id = j.account_id and v.journey_id = j.id and v.version = j.version
     where j.account_id = $1 and j.id = $2 for share of j`,
    [accountId, id],
    'lock-journey',
  )
  if (!journey) throw missing('There is no such journey')
  return journey
}

/** Lets contacts in, or nobody any more; runs that are in it go on. Throws Problem `missing`. */
export const switchJourney = async (work: Work, ref: string, enabled: boolean): Promise<JourneyView> => {
  const { id } = await findJourney(work, ref)
  await work.sql(
    'update journeys set enabled = $3, updated_at = $4 where account_id = $1 and id = $2 and enabled <> $3',
    [work.accountId, id, enabled, work.now],
  )
  const { version, definition, ...journey } = await findJourney(work, id)
  return journey
}

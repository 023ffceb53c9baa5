import { isDeepStrictEqual } from 'node:util'
import { requireFiles } from '../../lib/faults.ts'
import { newId } from '../../lib/ids.ts'
import { lockKey } from '../../lib/locks.ts'
import { conflict, noSuch, shown } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import { type Definition, type JourneyFile, triggerKey } from '../definition/definition.ts'
import { type JourneyDetail, type JourneyView, journeysNamed } from '../journeys.find.ts'
import { checkJourney, type UrlFaults } from './check.ts'

export { checkStepUrls } from './check.ts'

/** The outcome of one document; times in epoch ms. `id` is null if a dry run would create the journey. */
export interface Applied extends Omit<JourneyView, 'id'> {
  id: string | null
  version: number
  outcome: 'created' | 'updated' | 'unchanged'
}

const currentOf = async (work: Work, { id, name }: JourneyFile): Promise<JourneyDetail | undefined> => {
  const found = await journeysNamed(work, { id: id ?? null, name })
  if (id === undefined) return found[0]
  if (found[0]?.id !== id) throw noSuch('journey', id, { hint: 'svc journeys list' })
  if (found.length > 1) throw conflict(`There is already a journey named ${shown(name)}`)
  return found[0]
}

/** How long after its replacement a version is first checked for runs. By then no open transaction enters contacts into it. */
const firstCheckMs = 3_600_000

const insertVersion = async (
  { sql, accountId, now }: Work,
  id: string,
  version: number,
  definition: Definition,
): Promise<void> => {
  await sql('insert into journey_versions (account_id, journey_id, version, definition) values ($1, $2, $3, $4)', [
    accountId,
    id,
    version,
    JSON.stringify(definition),
  ])
  await sql(
    `insert into journey_exits (account_id, rule, journey_id, version)
     select distinct $1, rule, $2, $3::int from unnest($4::text[]) as rule`,
    [accountId, id, version, definition.exitOn],
  )
  await sql(
    'update journey_versions set look_at = $4 where account_id = $1 and journey_id = $2 and version < $3 and look_at is null',
    [accountId, id, version, new Date(now.getTime() + firstCheckMs)],
  )
}

const create = async (work: Work, journey: Omit<Applied, 'id'>, definition: Definition): Promise<string> => {
  const { sql, accountId, now } = work
  const id = newId('jrn', now.getTime())
  await sql(
    `insert into journeys (id, account_id, name, enabled, trigger_kind, trigger_key, version, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
    [id, accountId, journey.name, journey.enabled, journey.triggerKind, triggerKey(definition.trigger), 1, now],
  )
  await insertVersion(work, id, 1, definition)
  return id
}

const update = async (work: Work, journey: Applied & { id: string }, definition: Definition): Promise<void> => {
  const { sql, accountId, now } = work
  const { id, name, enabled, triggerKind, version } = journey
  await sql(
    `update journeys set name = $3, enabled = $4, trigger_kind = $5, trigger_key = $6, version = $7, updated_at = $8
     where account_id = $1 and id = $2`,
    [accountId, id, name, enabled, triggerKind, triggerKey(definition.trigger), version, now],
  )
}

const applyOne = async (work: Work, file: JourneyFile, dryRun: boolean): Promise<Applied> => {
  const { trigger, reentry, exitOn, steps, name, enabled } = file
  const definition: Definition = { trigger, reentry, exitOn, steps }
  const current = await currentOf(work, file)
  const nowMs = work.now.getTime()
  const next = { name, enabled, triggerKind: trigger.kind, createdAt: current?.createdAt ?? nowMs, updatedAt: nowMs }
  if (!current) {
    const created = { ...next, version: 1, outcome: 'created' as const }
    return { id: dryRun ? null : await create(work, created, definition), ...created }
  }
  const isNew = !isDeepStrictEqual(definition, current.definition)
  if (!isNew && enabled === current.enabled && name === current.name) {
    const { definition: _, ...view } = current
    return { ...view, outcome: 'unchanged' }
  }
  const version = current.version + (isNew ? 1 : 0)
  const updated = { id: current.id, ...next, version, outcome: 'updated' as const }
  if (!dryRun) {
    await update(work, updated, definition)
    if (isNew) await insertVersion(work, current.id, version, definition)
  }
  return updated
}

/**
 * Creates journeys from documents, or adds a version to existing journeys whose definition differs, all or nothing
 * (docs/reference/journeys.md#files). Open runs stay on their version. `dryRun` writes nothing. `urlFaults` is the result of
 * `checkStepUrls`. Throws Problem `invalid` with every error of every document, `missing` for an id that the account does not
 * have, `conflict` if a name is taken.
 */
export const applyJourneys = async (
  work: Work,
  documents: readonly unknown[],
  { dryRun = false, urlFaults = [] }: { dryRun?: boolean; urlFaults?: UrlFaults } = {},
): Promise<Applied[]> => {
  // One call at a time per account, because it reads the existing journeys before it changes them.
  await work.sql(`select pg_advisory_xact_lock(${lockKey('journeys', '$1')})`, [work.accountId])
  const files = await requireFiles(documents, 'journey', async (document, i) => {
    const checked = await checkJourney(work, document)
    const ofUrls = urlFaults[i] ?? []
    return ofUrls.length === 0 ? checked : { file: null, faults: [...(checked.faults ?? []), ...ofUrls] }
  })
  const applied: Applied[] = []
  for (const file of files) applied.push(await applyOne(work, file, dryRun))
  return applied
}

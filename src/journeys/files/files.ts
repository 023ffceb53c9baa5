import { isDeepStrictEqual } from 'node:util'
import { requireFiles } from '../../lib/file-faults.ts'
import { newId } from '../../lib/ids.ts'
import { conflict, noSuch, shown } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import { type Definition, type JourneyFile, triggerKey } from '../definition/definition.schema.ts'
import { type JourneyDetail, type JourneyView, journeysNamed, lockFiles } from '../journeys.find.ts'
import { checkJourney, type UrlFaults } from './check.ts'

export { checkStepUrls, type UrlFaults } from './check.ts'
export { type Sources, stepsOf } from './resolve.ts'

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

const entitiesOf = (work: Work) => work.em(import('../journeys.entities.ts'))

/** Inserts a version with its exit rules, and plans the first check of the version that it replaces. */
const insertVersion = async (work: Work, journeyId: string, version: number, definition: Definition): Promise<void> => {
  const { accountId, now } = work
  const [em, { JourneyExit, JourneyVersion }] = await entitiesOf(work)
  em.create(JourneyVersion, { accountId, journeyId, version, definition })
  for (const rule of new Set(definition.exitOn)) em.create(JourneyExit, { accountId, rule, journeyId, version })
  await em.flush()
  const replaced = { journeyId, version: { $lt: version }, lookAt: null }
  await em.nativeUpdate(JourneyVersion, replaced, { lookAt: new Date(now.getTime() + firstCheckMs) })
}

const create = async (work: Work, journey: Omit<Applied, 'id'>, definition: Definition): Promise<string> => {
  const { accountId, now } = work
  const { name, enabled, triggerKind, version } = journey
  const id = newId('jrn', now.getTime())
  const [em, { Journey }] = await entitiesOf(work)
  const key = triggerKey(definition.trigger)
  const times = { createdAt: now, updatedAt: now }
  em.create(Journey, { id, accountId, name, enabled, triggerKind, triggerKey: key, version, ...times })
  await insertVersion(work, id, version, definition)
  return id
}

const update = async (work: Work, journey: Applied & { id: string }, definition: Definition): Promise<void> => {
  const { id, name, enabled, triggerKind, version } = journey
  const [em, { Journey }] = await entitiesOf(work)
  const key = triggerKey(definition.trigger)
  await em.nativeUpdate(Journey, { id }, { name, enabled, triggerKind, triggerKey: key, version, updatedAt: work.now })
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
  await lockFiles(work)
  const files = await requireFiles(documents, 'journey', async (document, i) => {
    const checked = await checkJourney(work, document)
    const ofUrls = urlFaults[i] ?? []
    return ofUrls.length === 0 ? checked : { ...checked, file: null, faults: [...(checked.faults ?? []), ...ofUrls] }
  })
  const applied: Applied[] = []
  for (const file of files) applied.push(await applyOne(work, file, dryRun))
  return applied
}

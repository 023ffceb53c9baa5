import { type Contact, readContactsOf } from '../contacts/contacts.ts'
import { emit, isWanted } from '../events/emit.ts'
import { Problem } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import type { Definition, Step } from './journeys.definition.ts'
import { doingsOf } from './run.cause.ts'
import { type OpenRun, takeRuns } from './run.due.ts'
import { recordMoves } from './run.record.ts'
import { actionOf, fail, hasMoved, startWalk, takeEffect, type Walk, walkOn } from './run.walker.ts'
import { doStep, type Effect, type Ports, togetherAt } from './steps.effects.ts'

/*
 * One unit of work for runs of one journey: what their steps do, the rows in the step log and the runs' moves are one
 * transaction: kill -9 leaves all of them or none. The runs that stand at one step do it by the same statements. Locks: contacts in the order of their addresses or one deal, then deliveries, then the runs in the order
 * of their ids (all that the unit touches at once), and a list's count last.
 */

/** Runs of one journey of one account. */
export interface Batch {
  accountId: string
  journeyId: string
  ids: readonly string[]
}

/** What became of a batch. */
export interface Walked {
  /** These have more to do at once, so many of them together. */
  again: string[]
  together: number
  /** Not due any more, or in another unit of work. */
  untaken: string[]
}

/** Gives the definition of a version, which never changes. */
export type DefinitionOf = (work: Work, run: OpenRun) => Promise<Definition>

/** The contact in the run's list, else the address in its most recently updated one. */
const contactsOf = async (work: Work, runs: readonly OpenRun[]): Promise<Map<string, Contact>> => {
  const rows = await readContactsOf(work, [...new Set(runs.map(({ email }) => email))])
  const byEmail = Map.groupBy(rows, ({ email }) => email)
  const found = runs.flatMap((run): [string, Contact][] => {
    const own = byEmail.get(run.email) ?? []
    const contact = own.find(({ listId }) => listId === run.listId) ?? own[0]
    return contact ? [[run.id, contact]] : []
  })
  return new Map(found)
}

/** Of one person's runs those that come of the same: the deals that each of them makes are told apart by the person. */
const ofOneCause = (walks: readonly Walk[]): Walk[] => {
  const causes = new Map<string, string>()
  return walks.filter(({ run: { id, rowId, rootId, depth } }) => {
    const cause = `${rootId ?? id} ${depth}`
    const first = causes.get(rowId) ?? cause
    causes.set(rowId, first)
    return first === cause
  })
}

/** Those that stand at the first one's step, as many as may do it together. */
const nextTogether = (walks: readonly Walk[]): { step: Step; doing: Walk[] } | null => {
  const standing = walks.filter((walk) => actionOf(walk) !== null)
  const [first] = standing
  if (!first) return null
  const step = actionOf(first)!
  const there = standing.filter((walk) => actionOf(walk) === step)
  return { step, doing: (step.kind === 'create-deal' ? ofOneCause(there) : there).slice(0, togetherAt(step)) }
}

const doTogether = async (work: Work, step: Step, doing: readonly Walk[], ports: Ports): Promise<Effect[]> => {
  const doers = doing.map(({ run, state: { stepNo, context }, contact }) => ({
    runId: run.id,
    journeyId: run.journeyId,
    stepNo,
    contact: contact!,
    context,
  }))
  return doStep(work, step, doers, ports)
}

/** The same for a run alone: what is refused to it is undone, and ends it. */
const doAlone = async (work: Work, step: Step, walk: Walk, ports: Ports): Promise<Effect | null> => {
  await work.sql('savepoint step')
  try {
    return (await doTogether(work, step, [walk], ports))[0]!
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    await work.sql('rollback to savepoint step')
    doingsOf(work).ended.clear()
    doingsOf(work).unstarted.clear()
    fail(walk, step.kind, error.message)
    return null
  }
}

const emitCompleted = async (work: Work, journeyId: string, walks: readonly Walk[]): Promise<void> => {
  const { ended, completing } = doingsOf(work)
  const completed = walks.filter(({ run, state }) => state.status === 'completed' && !ended.has(run.id))
  for (const { run } of completed) completing.add(run.id)
  if (completed.length === 0 || !(await isWanted(work, 'journey.completed'))) return
  const [journey] = await work.sql<{ id: string; name: string }>(
    'select id, name from journeys where account_id = $1 and id = $2',
    [work.accountId, journeyId],
    'completed-journey',
  )
  const completedAt = work.now.getTime()
  await emit(work, 'journey.completed', () =>
    completed.map(({ run: { id, enteredAt }, lastContact }) => ({
      journey: journey!,
      runId: id,
      contact: lastContact!,
      enteredAt: enteredAt.getTime(),
      completedAt,
    })),
  )
}

/** The runs of a batch as far as steps of control lead them. */
const startWalks = async (work: Work, ids: readonly string[], definitionOf: DefinitionOf): Promise<Walk[]> => {
  const runs = await takeRuns(work, ids)
  if (runs.length === 0) return []
  doingsOf(work).actors = runs
  const contacts = await contactsOf(work, runs)
  const walks: Walk[] = []
  for (const run of runs) walks.push(startWalk(run, await definitionOf(work, run), contacts.get(run.id) ?? null))
  for (const walk of walks) walkOn(walk, work.now.getTime())
  return walks
}

const act = async (work: Work, walks: readonly Walk[], ports: Ports): Promise<void> => {
  const next = nextTogether(walks)
  if (!next) return
  const { step, doing } = next
  doingsOf(work).causing = doing.map(({ run }) => run)
  const isAlone = walks.length === 1
  const effects = isAlone ? [await doAlone(work, step, doing[0]!, ports)] : await doTogether(work, step, doing, ports)
  const nowMs = work.now.getTime()
  for (const [i, effect] of effects.entries()) {
    if (!effect) continue
    takeEffect(doing[i]!, step.kind, effect, nowMs)
    walkOn(doing[i]!, nowMs)
  }
}

/**
 * Takes a batch as far as one unit of work may: each run through steps of control, those at one step through it, and on to
 * the next step that does something, a wait that is not over, or the end. Of a batch of one, a refusal ends the run. Rejects
 * with the Problem of any other refusal, with `Stale` where a run has changed meanwhile, or with a fault; nothing is kept then.
 */
export const walkBatch = (
  app: App,
  { accountId, journeyId, ids }: Batch,
  { definitionOf, ports }: { definitionOf: DefinitionOf; ports: Ports },
): Promise<Walked> =>
  app.work(accountId, `journey:${journeyId}`, async (work) => {
    const walks = await startWalks(work, ids, definitionOf)
    await act(work, walks, ports)
    await emitCompleted(work, journeyId, walks)
    const moves = walks.filter(hasMoved).map(({ state }) => state)
    await recordMoves(
      work,
      walks.flatMap(({ done }) => done),
      moves,
    )
    const { ended } = doingsOf(work)
    const onward = walks.filter(({ run, isResting }) => !isResting && !ended.has(run.id))
    const taken = new Set(walks.map(({ run }) => run.id))
    return {
      again: onward.map(({ run }) => run.id),
      together: onward.reduce((least, walk) => Math.min(least, togetherAt(actionOf(walk)!)), Number.POSITIVE_INFINITY),
      untaken: ids.filter((id) => !taken.has(id)),
    }
  })

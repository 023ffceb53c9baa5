import { type Contact, readContactsOf } from '../../contacts/contacts.ts'
import { emit, isWanted } from '../../events/emit.ts'
import { Problem } from '../../lib/problem.ts'
import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import type { Definition, Step } from '../definition/definition.schema.ts'
import { cancelRuns, deletedReason } from '../journeys.cancel.ts'
import { journeyStateOf } from '../journeys.cause.ts'
import { nameOfJourney } from '../journeys.find.ts'
import { recordMoves, StaleRun } from './runs.record.ts'
import { type OpenRun, takeRuns } from './runs.take.ts'
import { batchLimitOf, doStep, type Effect, type Ports } from './steps.effects.ts'
import { actionOf, applyEffect, fail, hasMoved, isResting, runControlSteps, startWalk, type Walk } from './walker.ts'

/*
 * One unit of work for runs of one journey. The effects of their steps, the rows in the step log and the new states of the runs
 * are one transaction: kill -9 leaves all of them or none. Runs at the same step share its statements. Lock order: the board, if the
 * step makes or moves deals or removes from a list, and then the contact's deals in that list; contacts in the order of their
 * addresses, or one deal; then deliveries; then all runs at once, in the order of their ids; a list's count last.
 */

/** Runs of one journey of one account. */
export interface Batch {
  accountId: string
  journeyId: string
  ids: readonly string[]
}

/** The result of a unit of work. */
interface BatchResult {
  /** Runs whose next step is already due, and how many of them may share a unit of work. */
  again: string[]
  batchLimit: number
  /** Runs that are no longer due, or locked by another unit of work. */
  untaken: string[]
}

/** Returns the definition of a run's version, which is immutable. */
export type DefinitionOf = (work: Work, run: OpenRun) => Promise<Definition>

/** Returns the contact of each run: in the run's list, else in the most recently updated list that has the address. */
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

/** Keeps one cause per person: the cause of a run that a new deal starts is found by the deal's person (`causeFor`). */
const ofOneCause = (walks: readonly Walk[]): Walk[] => {
  const causes = new Map<string, string>()
  return walks.filter(({ run: { id, rowId, rootId, depth } }) => {
    const cause = `${rootId ?? id} ${depth}`
    const first = causes.get(rowId) ?? cause
    causes.set(rowId, first)
    return first === cause
  })
}

/** Returns the first run's step with the runs at that step that may share the unit of work. */
const nextStep = (walks: readonly Walk[]): { step: Step; doing: Walk[] } | null => {
  const acting = walks.filter((walk) => actionOf(walk) !== null)
  const [first] = acting
  if (!first) return null
  const step = actionOf(first)!
  const atStep = acting.filter((walk) => actionOf(walk) === step)
  return { step, doing: (step.kind === 'create-deal' ? ofOneCause(atStep) : atStep).slice(0, batchLimitOf(step)) }
}

const doForRuns = async (work: Work, step: Step, doing: readonly Walk[], ports: Ports): Promise<Effect[]> => {
  const runs = doing.map(({ run, state: { stepNo, context }, contact, nowMs }) => ({
    runId: run.id,
    journeyId: run.journeyId,
    stepNo,
    contact: contact!,
    context,
    nowMs,
  }))
  return doStep(work, step, runs, ports)
}

const beginStep = statement('begin-step', {}, 'savepoint step')
const undoStep = statement('undo-step', {}, 'rollback to savepoint step')

/** Does a step for a single run. A refusal (Problem) rolls the step back and ends the run. */
const doForOne = async (work: Work, step: Step, walk: Walk, ports: Ports): Promise<Effect | null> => {
  await work.sql(beginStep)
  try {
    return (await doForRuns(work, step, [walk], ports))[0]!
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    await work.sql(undoStep)
    journeyStateOf(work).ended.clear()
    journeyStateOf(work).unstarted.clear()
    fail(walk, step.kind, error.message)
    return null
  }
}

const emitCompleted = async (work: Work, journeyId: string, walks: readonly Walk[]): Promise<void> => {
  const { ended, completing } = journeyStateOf(work)
  const completed = walks.filter(({ run, state }) => state.status === 'completed' && !ended.has(run.id))
  for (const { run } of completed) completing.add(run.id)
  if (completed.length === 0 || !(await isWanted(work, 'journey.completed'))) return
  const journey = { id: journeyId, name: await nameOfJourney(work, journeyId) }
  const completedAt = work.now.getTime()
  await emit(work, 'journey.completed', () =>
    completed.map(({ run: { id, enteredAt }, lastContact }) => ({
      journey,
      runId: id,
      contact: lastContact!,
      enteredAt: enteredAt.getTime(),
      completedAt,
    })),
  )
}

/** Cancels runs of a deleted journey, whose deletion has not cancelled them yet. */
const cancelOrphans = async (work: Work, runs: readonly OpenRun[]): Promise<void> => {
  const open = runs.map(({ id, revision }) => ({ id, revision, deliveryId: null }))
  const { cancelled } = await cancelRuns(work, open, deletedReason)
  if (cancelled !== runs.length) throw new StaleRun()
}

/** Reads the contacts of runs and advances them through control steps. */
const startWalks = async (work: Work, runs: readonly OpenRun[], definitionOf: DefinitionOf): Promise<Walk[]> => {
  if (runs.length === 0) return []
  journeyStateOf(work).actors = runs
  const contacts = await contactsOf(work, runs)
  const walks: Walk[] = []
  const nowMs = work.now.getTime()
  for (const run of runs) {
    walks.push(startWalk(run, await definitionOf(work, run), contacts.get(run.id) ?? null, nowMs))
  }
  for (const walk of walks) runControlSteps(walk)
  return walks
}

/** Does one step with an effect. */
export const act = async (work: Work, walks: readonly Walk[], ports: Ports): Promise<void> => {
  const next = nextStep(walks)
  if (!next) return
  const { step, doing } = next
  journeyStateOf(work).causing = doing.map(({ run }) => run)
  const isSingle = walks.length === 1
  const effects = isSingle ? [await doForOne(work, step, doing[0]!, ports)] : await doForRuns(work, step, doing, ports)
  for (const [i, effect] of effects.entries()) {
    if (!effect) continue
    applyEffect(doing[i]!, step.kind, effect)
    runControlSteps(doing[i]!)
  }
}

/**
 * Advances a batch by one unit of work: every run through its control steps, the runs at one step through that step, and on to
 * the next step with an effect, a wait that is not over, or the end. A refused step ends the run of a batch of one. A larger
 * batch rejects with the Problem. It also rejects with `StaleRun` if a run has changed, and with unexpected errors. Then
 * everything is rolled back.
 */
export const walkBatch = (
  app: App,
  { accountId, journeyId, ids }: Batch,
  { definitionOf, ports }: { definitionOf: DefinitionOf; ports: Ports },
): Promise<BatchResult> =>
  app.work(accountId, `journey:${journeyId}`, async (work) => {
    const runs = await takeRuns(work, journeyId, ids)
    const orphans = runs.filter(({ isOrphan }) => isOrphan)
    if (orphans.length > 0) await cancelOrphans(work, orphans)
    const walks = await startWalks(
      work,
      runs.filter(({ isOrphan }) => !isOrphan),
      definitionOf,
    )
    await act(work, walks, ports)
    await emitCompleted(work, journeyId, walks)
    const moves = walks.filter(hasMoved).map(({ state }) => state)
    await recordMoves(
      work,
      walks.flatMap(({ done }) => done),
      moves,
    )
    const { ended } = journeyStateOf(work)
    const onward = walks.filter((walk) => !isResting(walk) && !ended.has(walk.run.id))
    const taken = new Set(runs.map(({ id }) => id))
    return {
      again: onward.map(({ run }) => run.id),
      batchLimit: onward.reduce(
        (least, walk) => Math.min(least, batchLimitOf(actionOf(walk)!)),
        Number.POSITIVE_INFINITY,
      ),
      untaken: ids.filter((id) => !taken.has(id)),
    }
  })

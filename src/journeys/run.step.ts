import { type Contact, readContactsOf } from '../contacts/contacts.ts'
import { emit, isWanted } from '../events/emit.ts'
import { Problem } from '../lib/problem.ts'
import { isPassing } from '../store/queue.ts'
import type { App, Work } from '../store/work.ts'
import { pathOf, stepAt } from './journeys.walk.ts'
import { actAt, endedIn } from './run.cause.ts'
import { recordMoves, StaleClaim } from './run.record.ts'
import { type Going, type Walked, walk } from './run.walker.ts'

/*
 * A step's effect, its row in the step log and the run's move are one transaction, guarded by the claim: kill -9 leaves
 * all of them or none. Runs of one journey share a transaction as long as nothing is refused; where something is, each is
 * done again in one of its own. Locks: deals, contacts, and the runs last.
 */

/** The contact in the run's list, else the address in its most recently updated one. */
const contactsOf = async (work: Work, goings: readonly Going[]): Promise<Map<string, Contact>> => {
  const rows = await readContactsOf(work, [...new Set(goings.map(({ run }) => run.email))])
  const byEmail = Map.groupBy(rows, ({ email }) => email)
  const found = goings.flatMap(({ run }): [string, Contact][] => {
    const own = byEmail.get(run.email) ?? []
    const contact = own.find(({ listId }) => listId === run.listId) ?? own[0]
    return contact ? [[run.id, contact]] : []
  })
  return new Map(found)
}

const emitCompleted = async (work: Work, walked: readonly Walked[]): Promise<void> => {
  const ended = endedIn(work)
  const completed = walked.filter(
    ({ move, contact }) => move?.status === 'completed' && contact !== null && !ended.has(move.id),
  )
  if (completed.length === 0 || !(await isWanted(work, 'journey.completed'))) return
  const id = completed[0]!.going.run.journeyId
  const [journey] = await work.sql<{ id: string; name: string }>(
    'select id, name from journeys where account_id = $1 and id = $2',
    [work.accountId, id],
    'journey-name',
  )
  const completedAt = work.now.getTime()
  await emit(work, 'journey.completed', () =>
    completed.map(({ going: { run }, contact }) => ({
      journey: journey!,
      runId: run.id,
      contact: contact!,
      enteredAt: run.enteredAt.getTime(),
      completedAt,
    })),
  )
}

const actorOf = ({ run }: Going): string => `journey:${run.journeyId}`

/** One unit of work for runs of one journey. What was claimed is not changed: the unit may run again. */
const walkAll = (app: App, goings: readonly Going[]): Promise<Walked[]> =>
  app.work(goings[0]!.run.accountId, actorOf(goings[0]!), async (work) => {
    const contacts = await contactsOf(work, goings)
    const walked: Walked[] = []
    for (const going of goings) {
      // Ended meanwhile, by the step of another run in this very unit.
      if (endedIn(work).has(going.run.id)) continue
      walked.push(await walk(work, going, contacts.get(going.run.id) ?? null))
    }
    const done = walked.flatMap((one) => one.done)
    const moves = walked.flatMap(({ move }) => move ?? [])
    if (moves.length > 0) await recordMoves(work, done, moves)
    await emitCompleted(work, walked)
    return walked.filter(({ going }) => !endedIn(work).has(going.run.id))
  })

const reasonOf = (fault: unknown): string =>
  fault instanceof Problem ? fault.message : `a fault of ours (${(fault as Error)?.message ?? fault})`

/** Ends a run at the step that was refused, with the reason. */
const failRun = ({ work: open }: App, going: Going, fault: unknown): Promise<void> =>
  open(going.run.accountId, actorOf(going), async (work) => {
    const { id, claim, stepNo, cursor, context, dueAt } = going.run
    const { kind } = stepAt(going.definition, cursor)
    const reason = reasonOf(fault)
    actAt(work, going.run.depth)
    await recordMoves(
      work,
      [{ runId: id, stepNo, step: pathOf(cursor), kind, outcome: reason }],
      [
        {
          id,
          claim,
          status: 'failed',
          reason: `${kind}: ${reason}`,
          cursor: null,
          stepNo: stepNo + 1,
          dueAt: dueAt.getTime(),
          awaited: null,
          awaitedWhere: null,
          context,
          isHeld: false,
        },
      ],
    )
  })

const unlessStale = (error: unknown): void => {
  if (!(error instanceof StaleClaim)) throw error
}

const walkAlone = async (app: App, going: Going): Promise<Walked[]> => {
  try {
    return await walkAll(app, [{ ...going, isCareful: true }])
  } catch (error) {
    if (error instanceof StaleClaim) return []
    if (isPassing(error)) throw error
    await failRun(app, going, error).catch(unlessStale)
    return []
  }
}

/**
 * Takes runs of one journey a unit of work further, and gives those that were taken. What is refused ends as failed; whose
 * claim is not the newest any more is let go. Rejects with a passing fault alone: nothing of the last unit was kept then.
 */
export const takeStep = async (app: App, goings: readonly Going[]): Promise<Walked[]> => {
  try {
    return await walkAll(app, goings)
  } catch (error) {
    if (isPassing(error) && goings.length === 1) throw error
    const walked: Walked[] = []
    for (const going of goings) walked.push(...(await walkAlone(app, going)))
    return walked
  }
}

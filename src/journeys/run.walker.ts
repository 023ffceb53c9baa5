import type { Contact } from '../contacts/contacts.ts'
import type { EndedDelivery } from '../store/work.ts'
import type { Definition, Step } from './journeys.definition.ts'
import { after, type Cursor, into, pathOf, stepAt } from './journeys.walk.ts'
import type { OpenRun } from './run.due.ts'
import type { Move, StepDone } from './run.record.ts'
import { type Way, wayOf } from './steps.control.ts'
import type { Effect } from './steps.effects.ts'

/*
 * Time on the way. A wait counts from when its step was reached, `dueAt`: after another wait that is the time for which that
 * one was meant, so that a chain of waits that is taken late catches up; after anything that did something (an effect, a
 * post, a mail, an event that came) it is when that was really done. So `send, delay 1d, send` waits its day after any
 * outage. A `wait-for` listens for its whole timeout from when it begins to listen, however late that is.
 */

/** A run on its way through one unit of work. */
export interface Walk {
  readonly run: OpenRun
  readonly definition: Definition
  /** As the steps so far leave it; null once it is in no list any more. */
  contact: Contact | null
  /** As it was last in a list. */
  lastContact: Contact | null
  state: Move
  done: StepDone[]
  /** It waits, or has ended. */
  isResting: boolean
}

/** A run with its contact: that in the run's list, else the address in its most recently updated one. */
export const startWalk = (run: OpenRun, definition: Definition, contact: Contact | null): Walk => {
  const { id, revision, status, cursor, stepNo, awaited, context } = run
  const dueAt = run.dueAt.getTime()
  const waitsFor = { awaited, awaitedWhere: null, deliveryId: null }
  const state = { id, revision, status, reason: null, cursor, stepNo, dueAt, ...waitsFor, context }
  return { run, definition, contact, lastContact: contact, state, done: [], isResting: false }
}

/** Whether there is something to record. */
export const hasMoved = ({ done, isResting }: Walk): boolean => done.length > 0 || isResting

const log = ({ run, state, done }: Walk, kind: string, outcome: string): void => {
  done.push({ runId: run.id, stepNo: state.stepNo, step: pathOf(state.cursor!), kind, outcome })
}

/** Ends the run, whatever it waits for. */
export const end = (walk: Walk, status: 'completed' | 'exited' | 'failed', reason: string | null): void => {
  walk.isResting = true
  Object.assign(walk.state, { status, reason, cursor: null, awaited: null, awaitedWhere: null, deliveryId: null })
}

/** What ends a run at its step, for good: in its log, and as its reason. */
export const fail = (walk: Walk, kind: string, why: string): void => {
  log(walk, kind, why)
  walk.state.stepNo++
  end(walk, 'failed', `${kind}: ${why}`)
}

/** Past a step that is done. */
const goOn = (walk: Walk, next: Cursor | null): void => {
  const { state } = walk
  const { delivery, ...context } = state.context
  Object.assign(state, { cursor: next, stepNo: state.stepNo + 1, status: 'running', awaited: null, context })
  if (next === null) end(walk, 'completed', null)
}

/** Past a step that did something, at that time. */
const goOnFrom = (walk: Walk, atMs: number): void => {
  walk.state.dueAt = atMs
  goOn(walk, after(walk.definition, walk.state.cursor!))
}

const take = (walk: Walk, way: Way, kind: string, nowMs: number): void => {
  const { state, definition } = walk
  if ('waitUntil' in way) {
    const { waitUntil, awaited = null, where = null } = way
    walk.isResting = waitUntil > nowMs
    Object.assign(state, { status: 'waiting', dueAt: waitUntil, awaited, awaitedWhere: where })
    return
  }
  log(walk, kind, 'exit' in way ? 'exited' : way.outcome)
  if ('exit' in way) {
    state.stepNo++
    end(walk, 'exited', way.exit)
  } else goOn(walk, way.side ? into(definition, state.cursor!, way.side) : after(definition, state.cursor!))
}

/** The end of the delivery that a webhook step waited for. */
const settle = (walk: Walk, { status, attempts, lastStatus, lastError }: EndedDelivery): void => {
  const { state, definition } = walk
  if (status !== 'delivered') {
    const why = lastError ?? (lastStatus === null ? status : `answered ${lastStatus}`)
    fail(walk, 'webhook', `${why} (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`)
    return
  }
  log(walk, 'webhook', `answered ${lastStatus}`)
  const next = after(definition, state.cursor!)
  const awaits = next && stepAt(definition, next).kind === 'wait-for'
  const hasCome = awaits && state.awaited === null
  goOnFrom(walk, state.dueAt)
  // The event came before the answer did: the wait that begins now is over.
  if (hasCome) state.status = 'waiting'
}

/** The contact is in no list any more, or not in that of a journey that ends by it. */
const leftReason = ({ run, definition, contact }: Walk): string | null => {
  const isIn = contact?.listId === run.listId
  if (!isIn && definition.exitOn.includes('list-removed')) return 'exit rule: list-removed'
  return contact ? null : 'the contact was removed'
}

/** Walks through steps of control, up to a wait that is not over, the end, or a step that does something. */
export const walkOn = (walk: Walk, nowMs: number): void => {
  const { run, definition, state } = walk
  while (!walk.isResting) {
    const left = leftReason(walk)
    const { contact } = walk
    if (left || !contact) {
      end(walk, 'exited', left)
      return
    }
    const { status, awaited, dueAt: dueMs, cursor } = state
    const step = stepAt(definition, cursor!)
    const delivery = state.context.delivery as EndedDelivery | undefined
    const place = pathOf(cursor!)
    const way = wayOf(step, { runId: run.id, place, contact, isWaiting: status === 'waiting', awaited, dueMs, nowMs })
    if (way) take(walk, way, step.kind, nowMs)
    else if (delivery) settle(walk, delivery)
    else return
  }
}

/** The step that does something at which the run stands; null where it rests. */
export const actionOf = ({ definition, state, isResting }: Walk): Step | null =>
  isResting ? null : stepAt(definition, state.cursor!)

/** Waits for the end of a delivery. Who is posted to may cause the event that comes next before it answers: it is heard. */
const waitForEnd = (walk: Walk, deliveryId: string, nowMs: number): void => {
  const { state, definition } = walk
  const next = after(definition, state.cursor!)
  const awaits = next ? stepAt(definition, next) : null
  const { event = null, where = null } = awaits?.kind === 'wait-for' ? awaits : {}
  walk.isResting = true
  Object.assign(state, { status: 'waiting', dueAt: nowMs, deliveryId, awaited: event, awaitedWhere: where })
}

/** The run as its step has left it. */
export const takeEffect = (walk: Walk, kind: string, effect: Effect, nowMs: number): void => {
  if ('failed' in effect) fail(walk, kind, effect.failed)
  else if ('deliveryId' in effect) waitForEnd(walk, effect.deliveryId, nowMs)
  else {
    log(walk, kind, effect.outcome)
    if (effect.contact !== undefined) walk.contact = effect.contact
    if (effect.contact) walk.lastContact = effect.contact
    if (effect.context) walk.state.context = effect.context
    goOnFrom(walk, nowMs)
  }
}

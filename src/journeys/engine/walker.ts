import type { Contact } from '../../contacts/contacts.ts'
import type { CallEnd } from '../../deliveries/deliveries.ts'
import { after, type Cursor, type Definition, into, pathOf, type Step, stepAt } from '../definition/definition.ts'
import type { OpenRun } from './due.ts'
import type { Move, StepDone } from './record.ts'
import { type Transition, transitionOf } from './steps.control.ts'
import type { Effect } from './steps.effects.ts'

/*
 * Times. A wait counts from `dueAt`, when its step was reached. After another wait, `dueAt` is the planned end of that wait, so that
 * a chain of late waits catches up. After a step with an effect, or an event, it is the actual time. So `send, delay 1d, send`
 * waits a full day after an outage. A `wait-for` always listens for its whole timeout.
 */

/** A run within one unit of work. */
export interface Walk {
  readonly run: OpenRun
  readonly definition: Definition
  /** The contact after the steps so far; null once it is in no list. */
  contact: Contact | null
  /** The contact as it last was in a list. */
  lastContact: Contact | null
  state: Move
  done: StepDone[]
  /** The run waits, or has ended. */
  isResting: boolean
}

/** Returns the walk of a run. `contact`: in the run's list, else in the address's most recently updated list. */
export const startWalk = (run: OpenRun, definition: Definition, contact: Contact | null): Walk => {
  const { id, revision, status, cursor, stepNo, awaited, context } = run
  const dueAt = run.dueAt.getTime()
  const waitsFor = { awaited, awaitedWhere: null, deliveryId: null }
  const state = { id, revision, status, reason: null, cursor, stepNo, dueAt, ...waitsFor, context }
  return { run, definition, contact, lastContact: contact, state, done: [], isResting: false }
}

/** Returns whether the walk must be recorded. */
export const hasMoved = ({ done, isResting }: Walk): boolean => done.length > 0 || isResting

const log = ({ run, state, done }: Walk, kind: string, outcome: string): void => {
  done.push({ runId: run.id, stepNo: state.stepNo, step: pathOf(state.cursor!), kind, outcome })
}

/** Ends the run. */
const end = (walk: Walk, status: 'completed' | 'exited' | 'failed', reason: string | null): void => {
  walk.isResting = true
  Object.assign(walk.state, { status, reason, cursor: null, awaited: null, awaitedWhere: null, deliveryId: null })
}

/** Fails the run at its step, with the error in the step log and as the run's reason. */
export const fail = (walk: Walk, kind: string, why: string): void => {
  log(walk, kind, why)
  walk.state.stepNo++
  end(walk, 'failed', `${kind}: ${why}`)
}

/** Moves the run past a completed step. */
const advance = (walk: Walk, next: Cursor | null): void => {
  const { state } = walk
  const { delivery, ...context } = state.context
  Object.assign(state, { cursor: next, stepNo: state.stepNo + 1, status: 'running', awaited: null, context })
  if (next === null) end(walk, 'completed', null)
}

/** Moves the run past a step with an effect, which was done at `atMs`. */
const advanceAt = (walk: Walk, atMs: number): void => {
  walk.state.dueAt = atMs
  advance(walk, after(walk.definition, walk.state.cursor!))
}

const applyTransition = (walk: Walk, transition: Transition, kind: string, nowMs: number): void => {
  const { state, definition } = walk
  if ('waitUntil' in transition) {
    const { waitUntil, awaited = null, where = null } = transition
    walk.isResting = waitUntil > nowMs
    Object.assign(state, { status: 'waiting', dueAt: waitUntil, awaited, awaitedWhere: where })
    return
  }
  log(walk, kind, 'exit' in transition ? 'exited' : transition.outcome)
  if ('exit' in transition) {
    state.stepNo++
    end(walk, 'exited', transition.exit)
  } else {
    const { side } = transition
    advance(walk, side ? into(definition, state.cursor!, side) : after(definition, state.cursor!))
  }
}

/** Completes a webhook step with the end of its delivery. */
const settle = (walk: Walk, { status, attempts, lastStatus, lastError }: CallEnd): void => {
  const { state, definition } = walk
  if (status !== 'delivered') {
    const why = lastError ?? (lastStatus === null ? status : `answered ${lastStatus}`)
    fail(walk, 'webhook', `${why} (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`)
    return
  }
  log(walk, 'webhook', `answered ${lastStatus}`)
  const next = after(definition, state.cursor!)
  const awaits = next && stepAt(definition, next).kind === 'wait-for'
  const isEventReceived = awaits && state.awaited === null
  advanceAt(walk, state.dueAt)
  // The event arrived before the answer to the webhook, so the next step's wait is already over.
  if (isEventReceived) state.status = 'waiting'
}

/** Returns why the run ends because its contact left the run's list, or all lists; null: it does not end. */
const leftReason = ({ run, definition, contact }: Walk): string | null => {
  const isIn = contact?.listId === run.listId
  if (!isIn && definition.exitOn.includes('list-removed')) return 'exit rule: list-removed'
  return contact ? null : 'the contact was removed'
}

/** Advances the run through control steps, up to a wait that is not over, the end, or a step with an effect. */
export const runControlSteps = (walk: Walk, nowMs: number): void => {
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
    const delivery = state.context.delivery as CallEnd | undefined
    const place = pathOf(cursor!)
    const transition = transitionOf(step, {
      runId: run.id,
      place,
      contact,
      isWaiting: status === 'waiting',
      awaited,
      dueMs,
      nowMs,
    })
    if (transition) applyTransition(walk, transition, step.kind, nowMs)
    else if (delivery) settle(walk, delivery)
    else return
  }
}

/** Returns the step with an effect that the run has reached; null if the run waits or has ended. */
export const actionOf = ({ definition, state, isResting }: Walk): Step | null =>
  isResting ? null : stepAt(definition, state.cursor!)

/**
 * Makes the run wait for the end of a delivery. The endpoint can cause the event of a following `wait-for` before it answers, so
 * the run already listens for that event.
 */
const waitForEnd = (walk: Walk, deliveryId: string, nowMs: number): void => {
  const { state, definition } = walk
  const next = after(definition, state.cursor!)
  const awaits = next ? stepAt(definition, next) : null
  const { event = null, where = null } = awaits?.kind === 'wait-for' ? awaits : {}
  walk.isResting = true
  Object.assign(state, { status: 'waiting', dueAt: nowMs, deliveryId, awaited: event, awaitedWhere: where })
}

/** Applies the effect of a step to the run. */
export const applyEffect = (walk: Walk, kind: string, effect: Effect, nowMs: number): void => {
  if ('failed' in effect) fail(walk, kind, effect.failed)
  else if ('deliveryId' in effect) waitForEnd(walk, effect.deliveryId, nowMs)
  else {
    log(walk, kind, effect.outcome)
    if (effect.contact !== undefined) walk.contact = effect.contact
    if (effect.contact) walk.lastContact = effect.contact
    if (effect.context) walk.state.context = effect.context
    advanceAt(walk, nowMs)
  }
}

import type { Contact } from '../../contacts/contacts.ts'
import type { CallEnd } from '../../deliveries/deliveries.ts'
import type { Definition, Step } from '../definition/definition.schema.ts'
import { after, type Cursor, into, pathOf, stepAt } from '../definition/walk.ts'
import type { StepDone } from './runs.record.ts'
import type { OpenRun } from './runs.take.ts'
import { type Awaited, moved, type RunState, rests, type Transition } from './states.ts'
import { type ControlResult, controlResultOf } from './steps.control.ts'
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
  /** The time of the unit of work. */
  readonly nowMs: number
  /** The contact after the steps so far. It is null once it is in no list. */
  contact: Contact | null
  /** The contact as it last was in a list. */
  lastContact: Contact | null
  state: RunState
  done: StepDone[]
}

/**
 * Returns the walk of a run. `contact` is the one in the run's list, else the one in the most recently updated list.
 */
export const startWalk = (run: OpenRun, definition: Definition, contact: Contact | null, nowMs: number): Walk => {
  const { id, revision, status, cursor, stepNo, awaited, context } = run
  const waitsFor = { awaited, awaitedWhere: null, deliveryId: null }
  const state = { id, revision, status, reason: null, cursor, stepNo, dueAt: run.dueAt.getTime(), ...waitsFor, context }
  return { run, definition, nowMs, contact, lastContact: contact, state, done: [] }
}

/** Returns whether the run waits or has ended. */
export const isResting = ({ state, nowMs }: Walk): boolean => rests(state, nowMs)

/** Returns whether the walk must be recorded. */
export const hasMoved = (walk: Walk): boolean => walk.done.length > 0 || isResting(walk)

const move = (walk: Walk, transition: Transition): void => {
  walk.state = moved(walk.state, transition)
}

const log = ({ run, state, done }: Walk, kind: string, outcome: string): void => {
  done.push({ runId: run.id, stepNo: state.stepNo, step: pathOf(state.cursor!), kind, outcome })
}

const nextOf = ({ definition, state }: Walk): Cursor | null => after(definition, state.cursor!)

/** Returns the event that the step at a place waits for; none for other steps. */
const awaitedAt = ({ definition }: Walk, cursor: Cursor | null): Awaited => {
  const step = cursor && stepAt(definition, cursor)
  if (step?.kind !== 'wait-for') return { awaited: null, awaitedWhere: null }
  return { awaited: step.event, awaitedWhere: step.where ?? null }
}

/** Fails the run at its step, with the error in the step log and as the run's reason. */
export const fail = (walk: Walk, kind: string, why: string): void => {
  log(walk, kind, why)
  move(walk, { kind: 'fail', reason: `${kind}: ${why}` })
}

const applyControl = (walk: Walk, result: ControlResult, kind: string): void => {
  const { state, definition } = walk
  if ('waitUntil' in result) {
    const { waitUntil, awaited = null, where = null } = result
    move(walk, { kind: 'wait', dueAt: waitUntil, awaited, awaitedWhere: where })
  } else if ('exit' in result) {
    log(walk, kind, 'exited')
    move(walk, { kind: 'exit', reason: result.exit, isStepDone: true })
  } else {
    log(walk, kind, result.outcome)
    const cursor = result.side ? into(definition, state.cursor!, result.side) : nextOf(walk)
    move(walk, { kind: 'proceed', cursor, dueAt: state.dueAt })
  }
}

/** Completes a webhook step with the end of its delivery. */
const settle = (walk: Walk, { status, attempts, lastStatus, lastError }: CallEnd): void => {
  const { state } = walk
  if (status !== 'delivered') {
    const why = lastError ?? (lastStatus === null ? status : `answered ${lastStatus}`)
    fail(walk, 'webhook', `${why} (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`)
    return
  }
  log(walk, 'webhook', `answered ${lastStatus}`)
  const cursor = nextOf(walk)
  const isEventReceived = state.awaited === null && awaitedAt(walk, cursor).awaited !== null
  if (cursor && isEventReceived) move(walk, { kind: 'receive', cursor })
  else move(walk, { kind: 'proceed', cursor, dueAt: state.dueAt })
}

/** Returns why the run ends because its contact left the run's list, or all lists, or null if it does not end. */
const leftReason = ({ run, definition, contact }: Walk): string | null => {
  const isIn = contact?.listId === run.listId
  if (!isIn && definition.exitOn.includes('list-removed')) return 'exit rule: list-removed'
  return contact ? null : 'the contact was removed'
}

/** Advances the run through control steps, up to a wait that is not over, the end, or a step with an effect. */
export const runControlSteps = (walk: Walk): void => {
  const { run, definition, nowMs } = walk
  while (!isResting(walk)) {
    const left = leftReason(walk)
    const { contact, state } = walk
    if (left || !contact) {
      move(walk, { kind: 'exit', reason: left, isStepDone: false })
      return
    }
    const { status, awaited, context, dueAt: dueMs } = state
    const cursor = state.cursor!
    const step = stepAt(definition, cursor)
    const delivery = context.delivery as CallEnd | undefined
    const isWaiting = status === 'waiting'
    const situation = { runId: run.id, place: pathOf(cursor), contact, context, isWaiting, awaited, dueMs, nowMs }
    const result = controlResultOf(step, situation)
    if (result) applyControl(walk, result, step.kind)
    else if (delivery) settle(walk, delivery)
    else return
  }
}

/** Returns the step with an effect that the run has reached, or null if the run waits or has ended. */
export const actionOf = (walk: Walk): Step | null =>
  isResting(walk) ? null : stepAt(walk.definition, walk.state.cursor!)

/** Applies the effect of a step to the run. */
export const applyEffect = (walk: Walk, kind: string, effect: Effect): void => {
  const { nowMs } = walk
  if ('failed' in effect) fail(walk, kind, effect.failed)
  else if ('side' in effect) applyControl(walk, { on: true, side: effect.side, outcome: effect.side }, kind)
  // The endpoint can cause the event of a following `wait-for` before it answers, so the run already listens for that event.
  else if ('deliveryId' in effect) {
    const { deliveryId } = effect
    move(walk, { kind: 'call', deliveryId, dueAt: nowMs, ...awaitedAt(walk, nextOf(walk)) })
  } else {
    log(walk, kind, effect.outcome)
    if (effect.contact !== undefined) walk.contact = effect.contact
    if (effect.contact) walk.lastContact = effect.contact
    if (effect.context) walk.state = { ...walk.state, context: effect.context }
    move(walk, { kind: 'proceed', cursor: nextOf(walk), dueAt: nowMs })
  }
}

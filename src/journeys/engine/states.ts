import type { AwaitedWhere } from '../definition/awaited.ts'
import type { RunStatus } from '../definition/definition.schema.ts'
import type { Cursor } from '../definition/walk.ts'

/*
 * The states of a run. Each row of the table is one case of `moved`, or one statement of the named file.
 *
 * | from             | to        | transition | moved by |
 * |------------------|-----------|------------|----------|
 * | –                | running   |            | enrolment/enter.ts: the contact enters |
 * | –                | failed    |            | enrolment/enter.ts: the chain of journeys is too deep |
 * | running, waiting | running   | proceed    | walker.ts: the step is done, and there is a next one |
 * | running, waiting | completed | proceed    | walker.ts: the last step is done |
 * | running          | waiting   | wait       | walker.ts: a delay, or a wait-for with its event and timeout |
 * | running          | waiting   | call       | walker.ts: a webhook step, until its delivery ends |
 * | waiting          | waiting   | receive    | walker.ts: a call has ended after the event of the next wait-for |
 * | waiting          | waiting   |            | journeys.wake.ts: the event or the end of the delivery; the step is due |
 * | running, waiting | exited    | exit       | walker.ts: an exit step, or the contact left; journeys.wake.ts: an exit rule |
 * | running, waiting | failed    | fail       | walker.ts: the step is refused, or its call failed |
 * | running, waiting | cancelled |            | journeys.cancel.ts: an operator ended the run, or the journey was deleted |
 *
 * An unexpected error changes no state: runs.record.ts plans the next try of the step.
 */

/** The state of a run, as a unit of work reads and records it. Times in epoch ms. */
export interface RunState {
  readonly id: string
  /** The revision that was read. */
  readonly revision: number
  readonly status: RunStatus
  /** Why it ended early. */
  readonly reason: string | null
  /** The place of the next step. It is null once the run has ended. */
  readonly cursor: Cursor | null
  readonly stepNo: number
  readonly dueAt: number
  /** The event that it waits for. It is null at a waiting `wait-for` whose event has arrived. */
  readonly awaited: string | null
  readonly awaitedWhere: AwaitedWhere | null
  /** The delivery that it waits for. */
  readonly deliveryId: string | null
  /** `delivery` in it is the end of the delivery that the step has waited for. */
  readonly context: Record<string, unknown>
}

/** The event of a `wait-for`, and its `where`. */
export interface Awaited {
  awaited: string | null
  awaitedWhere: AwaitedWhere | null
}

export type Transition =
  | { kind: 'proceed'; cursor: Cursor | null; dueAt: number }
  | ({ kind: 'wait'; dueAt: number } & Awaited)
  | ({ kind: 'call'; deliveryId: string; dueAt: number } & Awaited)
  | { kind: 'receive'; cursor: Cursor }
  | { kind: 'exit'; reason: string | null; isStepDone: boolean }
  | { kind: 'fail'; reason: string }

const awaitsNothing = { awaited: null, awaitedWhere: null, deliveryId: null }

/** Returns the state after the current step, at the place of the next one. */
const pastStep = (state: RunState, cursor: Cursor | null): Omit<RunState, 'status'> => {
  const { delivery, ...context } = state.context
  return { ...state, ...awaitsNothing, cursor, stepNo: state.stepNo + 1, context }
}

/** Returns the state after a transition. */
export const moved = (state: RunState, transition: Transition): RunState => {
  switch (transition.kind) {
    case 'proceed': {
      const { cursor, dueAt } = transition
      return { ...pastStep(state, cursor), status: cursor === null ? 'completed' : 'running', dueAt }
    }
    case 'wait': {
      const { dueAt, awaited, awaitedWhere } = transition
      return { ...state, status: 'waiting', dueAt, awaited, awaitedWhere }
    }
    case 'call': {
      const { deliveryId, dueAt, awaited, awaitedWhere } = transition
      return { ...state, status: 'waiting', dueAt, awaited, awaitedWhere, deliveryId }
    }
    case 'receive':
      return { ...pastStep(state, transition.cursor), status: 'waiting' }
    case 'exit': {
      const stepNo = state.stepNo + (transition.isStepDone ? 1 : 0)
      return { ...state, ...awaitsNothing, status: 'exited', reason: transition.reason, cursor: null, stepNo }
    }
    case 'fail': {
      const { reason } = transition
      return { ...state, ...awaitsNothing, status: 'failed', reason, cursor: null, stepNo: state.stepNo + 1 }
    }
  }
}

/** Returns whether the run has nothing to do now: it waits, or has ended. */
export const rests = ({ status, cursor, dueAt, deliveryId }: RunState, nowMs: number): boolean =>
  cursor === null || (status === 'waiting' && (deliveryId !== null || dueAt > nowMs))

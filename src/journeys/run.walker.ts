import type { Contact } from '../contacts/contacts.ts'
import type { Work } from '../store/work.ts'
import type { Definition } from './journeys.definition.ts'
import { after, type Cursor, into, pathOf, stepAt } from './journeys.walk.ts'
import { actAt } from './run.cause.ts'
import type { ClaimedRun } from './run.claim.ts'
import type { Move, StepDone } from './run.record.ts'
import { type Way, wayOf } from './steps.control.ts'
import { doEffect } from './steps.effects.ts'
import { type Reply, usesSocket } from './steps.socket.ts'

/** A claimed run with what its next unit of work takes. `reply`: its socket step was done, and this came of it. */
export interface Going {
  run: ClaimedRun
  definition: Definition
  reply?: Reply
  /** What it does may be refused: it is done in a unit of work of its own, without the steps of control before it. */
  isCareful?: boolean
}

/** What a unit of work made of a run. */
export interface Walked {
  going: Going
  done: StepDone[]
  /** null: it stands where it stood. */
  move: Move | null
  /** Its next step uses a socket. */
  needsSocket: boolean
  contact: Contact | null
}

type State = Omit<Move, 'cursor' | 'isHeld'> & { cursor: Cursor | null }

const stateOf = ({ id, claim, status, cursor, stepNo, awaited, context, dueAt }: ClaimedRun): State => ({
  id,
  claim,
  status,
  reason: null,
  cursor,
  stepNo,
  dueAt: dueAt.getTime(),
  awaited,
  awaitedWhere: null,
  context,
})

const end = (state: State, status: 'completed' | 'exited' | 'failed', reason: string | null): void => {
  Object.assign(state, { status, reason, cursor: null, awaited: null, awaitedWhere: null })
}

/** Past a step that is done. What retries it had is forgotten. */
const goOn = (state: State, next: Cursor | null): void => {
  const { tries, ...context } = state.context
  Object.assign(state, { cursor: next, stepNo: state.stepNo + 1, status: 'running', awaited: null, context })
  if (next === null) end(state, 'completed', null)
}

const wait = (state: State, { waitUntil, awaited, where }: Extract<Way, { waitUntil: number }>): void => {
  Object.assign(state, { status: 'waiting', dueAt: waitUntil, awaited: awaited ?? null, awaitedWhere: where ?? null })
}

/** The contact is in no list any more, or not in that of a journey that ends by it. */
const leftReason = ({ run, definition }: Going, contact: Contact | null): string | null => {
  const isIn = contact?.listId === run.listId
  if (!isIn && definition.exitOn.includes('list-removed')) return 'exit rule: list-removed'
  return contact ? null : 'the contact was removed'
}

/**
 * Walks a run as far as one unit of work may take it: through steps of control and one step that does something, up to a
 * wait that is not over, a socket or the end. A wait counts from when its step was due, so one that is taken late catches
 * up; a retry counts from the try. Throws Problem where its step is refused.
 */
export const walk = async (work: Work, going: Going, found: Contact | null): Promise<Walked> => {
  const { run, definition } = going
  const state = stateOf(run)
  const done: StepDone[] = []
  let contact = found
  let reply = going.reply
  let hasActed = false
  let needsSocket = false
  let isResting = false
  const nowMs = work.now.getTime()
  actAt(work, run.depth)

  const log = (kind: string, outcome: string) =>
    done.push({ runId: run.id, stepNo: state.stepNo, step: pathOf(state.cursor!), kind, outcome })

  const take = (way: Way, kind: string) => {
    if ('waitUntil' in way) {
      isResting = way.waitUntil > nowMs
      return wait(state, way)
    }
    if ('exit' in way) {
      log(kind, 'exited')
      state.stepNo++
      return end(state, 'exited', way.exit)
    }
    log(kind, way.outcome)
    goOn(state, way.side ? into(definition, state.cursor!, way.side) : after(definition, state.cursor!))
  }

  const settle = (answer: Reply, kind: string) => {
    if ('retryMs' in answer) {
      isResting = true
      state.dueAt = nowMs + answer.retryMs
      state.context = { ...state.context, tries: answer.tries }
      return
    }
    const outcome = 'done' in answer ? answer.done : answer.failed
    log(kind, outcome)
    if ('done' in answer) goOn(state, after(definition, state.cursor!))
    else end(state, 'failed', `${kind}: ${outcome}`)
  }

  while (state.cursor && !isResting) {
    const left = leftReason(going, contact)
    if (left || !contact) {
      end(state, 'exited', left)
      break
    }
    const step = stepAt(definition, state.cursor)
    const place = pathOf(state.cursor)
    const isWaiting = state.status === 'waiting'
    const { awaited, dueAt: dueMs } = state
    const way = wayOf(step, { runId: run.id, place, contact, isWaiting, awaited, dueMs })
    if (way) take(way, step.kind)
    else if (usesSocket(step)) {
      if (!reply) {
        needsSocket = true
        break
      }
      settle(reply, step.kind)
      reply = undefined
    } else {
      if (hasActed || (going.isCareful && done.length > 0)) break
      hasActed = true
      const effect = await doEffect(work, step, contact, state.context)
      if (!effect) throw new Error(`There is no step ${step.kind}`)
      log(step.kind, effect.outcome)
      if (effect.contact !== undefined) contact = effect.contact
      if (effect.context) state.context = effect.context
      goOn(state, after(definition, state.cursor))
    }
  }
  const isHeld = state.status === 'running' && !isResting
  const hasMoved = done.length > 0 || !isHeld
  return { going, done, move: hasMoved ? { ...state, isHeld } : null, needsSocket, contact }
}

import { createHash } from 'node:crypto'
import type { Contact } from '../contacts/contacts.ts'
import { durationMs, type Step } from './journeys.definition.ts'
import type { Side } from './journeys.walk.ts'
import { fieldOf } from './steps.tags.ts'

/** Where a step of control leads: on (into a side, or past it), to a wait, or out. Times in epoch ms. */
export type Way =
  | { on: true; side?: Side; outcome: string }
  | { waitUntil: number; awaited?: string; where?: Readonly<Record<string, unknown>> | undefined }
  | { exit: string }

const isNumeric = (value: string) => value.trim() !== '' && Number.isFinite(Number(value))

type Comparison = Extract<Step, { kind: 'branch' }>['if']

/** Whether the contact's field compares as the branch asks; `greater` and `less` hold between numbers alone. */
export const compares = (contact: Contact, { field, equals, contains, exists, greater, less }: Comparison): boolean => {
  const value = fieldOf(contact, field) ?? ''
  if (exists !== undefined) return (value !== '') === exists
  if (contains !== undefined) return value.includes(contains)
  if (greater !== undefined) return isNumeric(value) && Number(value) > greater
  if (less !== undefined) return isNumeric(value) && Number(value) < less
  return typeof equals === 'number' ? isNumeric(value) && Number(value) === equals : value === String(equals ?? '')
}

/** From 0 up to 100, spread evenly, the same for a run and step however often it is asked. */
export const lotOf = (runId: string, step: string): number =>
  (createHash('sha256').update(`${runId} ${step}`).digest().readUInt32BE(0) / 2 ** 32) * 100

interface Situation {
  runId: string
  /** The step's place, as `pathOf` names it. */
  place: string
  contact: Contact
  /** The run has been at this step, and what it waits for has come, or its time. */
  isWaiting: boolean
  /** The event type that it still waits for. */
  awaited: string | null
  /** Since when the step is due. */
  dueMs: number
  nowMs: number
}

const delayed = (step: Extract<Step, { kind: 'delay' }>, { isWaiting, dueMs }: Situation): Way => {
  if (isWaiting) return { on: true, outcome: 'waited' }
  const waitUntil = step.until === undefined ? dueMs + durationMs(step.for!) : Date.parse(step.until)
  return waitUntil > dueMs ? { waitUntil } : { on: true, outcome: 'nothing to wait for' }
}

const awaiting = (step: Extract<Step, { kind: 'wait-for' }>, { isWaiting, awaited, nowMs }: Situation): Way => {
  if (!isWaiting) return { waitUntil: nowMs + durationMs(step.timeout), awaited: step.event, where: step.where }
  const side = awaited === null ? 'then' : 'else'
  return { on: true, side, outcome: side === 'then' ? `${step.event} came` : `no ${step.event} in ${step.timeout}` }
}

/** What a step that only controls the run leads to; null where the step does something instead. */
export const wayOf = (step: Step, situation: Situation): Way | null => {
  switch (step.kind) {
    case 'delay':
      return delayed(step, situation)
    case 'wait-for':
      return awaiting(step, situation)
    case 'branch': {
      const side = compares(situation.contact, step.if) ? 'then' : 'else'
      return { on: true, side, outcome: side }
    }
    case 'split': {
      const side = lotOf(situation.runId, situation.place) < step.percent ? 'a' : 'b'
      return { on: true, side, outcome: side }
    }
    case 'exit':
      return { exit: 'exit step' }
    default:
      return null
  }
}

import { hash } from 'node:crypto'
import { parseDuration } from '../../lib/since.ts'
import type { AwaitedWhere } from '../definition/awaited.ts'
import type { Step } from '../definition/definition.schema.ts'
import type { Side } from '../definition/walk.ts'
import { fieldOf, type TagSource } from './steps.tags.ts'

/** The result of a control step: on to the next step (into a side, or past it), a wait, or an exit. Times in epoch ms. */
export type ControlResult =
  | { on: true; side?: Side; outcome: string }
  | { waitUntil: number; awaited?: string; where?: AwaitedWhere | undefined }
  | { exit: string }

const isNumeric = (value: string) => value.trim() !== '' && Number.isFinite(Number(value))

type Comparison = NonNullable<Extract<Step, { kind: 'branch' }>['if']>

/** Returns whether a run meets the condition of a branch. `greater` and `less` are false for a value that is no number. */
const compares = (source: TagSource, { field, equals, contains, exists, greater, less }: Comparison): boolean => {
  const value = fieldOf(source, field) ?? ''
  if (exists !== undefined) return (value !== '') === exists
  if (contains !== undefined) return value.includes(contains)
  if (greater !== undefined) return isNumeric(value) && Number(value) > greater
  if (less !== undefined) return isNumeric(value) && Number(value) < less
  return typeof equals === 'number' ? isNumeric(value) && Number(value) === equals : value === String(equals ?? '')
}

/** Returns a number from 0 up to 100, evenly distributed, always the same for a run and step. */
const splitValue = (runId: string, step: string): number =>
  (hash('sha256', `${runId} ${step}`, 'buffer').readUInt32BE(0) / 2 ** 32) * 100

interface Situation extends TagSource {
  runId: string
  /** The step's place, as `pathOf` names it. */
  place: string
  /** The run waited at this step; the event has arrived, or the time is over. */
  isWaiting: boolean
  /** The event type that it still waits for. It is null once the event has arrived. */
  awaited: string | null
  /** Since when the step is due. */
  dueMs: number
  nowMs: number
}

const delayed = (step: Extract<Step, { kind: 'delay' }>, { isWaiting, dueMs }: Situation): ControlResult => {
  if (isWaiting) return { on: true, outcome: 'waited' }
  const waitUntil = step.until === undefined ? dueMs + parseDuration(step.for!) : Date.parse(step.until)
  return waitUntil > dueMs ? { waitUntil } : { on: true, outcome: 'nothing to wait for' }
}

const awaiting = (
  step: Extract<Step, { kind: 'wait-for' }>,
  { isWaiting, awaited, nowMs }: Situation,
): ControlResult => {
  if (!isWaiting) return { waitUntil: nowMs + parseDuration(step.timeout), awaited: step.event, where: step.where }
  const side = awaited === null ? 'then' : 'else'
  return { on: true, side, outcome: side === 'then' ? `${step.event} came` : `no ${step.event} in ${step.timeout}` }
}

/** Returns the result of a control step, or null for a step with an effect, and for a branch that asks the database. */
export const controlResultOf = (step: Step, situation: Situation): ControlResult | null => {
  switch (step.kind) {
    case 'delay':
      return delayed(step, situation)
    case 'wait-for':
      return awaiting(step, situation)
    case 'branch': {
      if (!step.if) return null
      const side = compares(situation, step.if) ? 'then' : 'else'
      return { on: true, side, outcome: side }
    }
    case 'split': {
      const side = splitValue(situation.runId, situation.place) < step.percent ? 'a' : 'b'
      return { on: true, side, outcome: side }
    }
    case 'exit':
      return { exit: 'exit step' }
    default:
      return null
  }
}

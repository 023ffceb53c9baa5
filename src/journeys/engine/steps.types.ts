import type { Contact } from '../../contacts/contacts.ts'
import type { Step } from '../definition/definition.schema.ts'
import type { Side } from '../definition/walk.ts'

export type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

/**
 * The result of a step for a run: the outcome for the step log, with the changed contact, which is null if it
 * is no longer in any list, and the new context; or the delivery that the run waits for; or the side that it takes; or the reason why the run fails.
 */
export type Effect =
  | { outcome: string; contact?: Contact | null; context?: RunContext }
  | { deliveryId: string }
  | { side: Side }
  | { failed: string }

export type RunContext = Record<string, unknown>

/** The data of a trigger, `data` of the run's context. */
export type RunData = Readonly<Record<string, string>>

export interface RunAtStep {
  runId: string
  journeyId: string
  stepNo: number
  contact: Contact
  context: RunContext
  /** The time of the step: of the unit of work, or of a rehearsal. */
  nowMs: number
}

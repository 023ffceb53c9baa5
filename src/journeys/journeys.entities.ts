import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'
import type { AwaitedWhere } from './definition/awaited.ts'
import { type Definition, runStatuses } from './definition/definition.schema.ts'
import type { Cursor } from './definition/walk.ts'

const JourneySchema = defineEntity({
  name: 'Journey',
  tableName: 'journeys',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  indexes: [
    {
      name: 'journeys_trigger_index',
      expression: `create index "journeys_trigger_index" on "journeys" ("account_id", "trigger_kind", "trigger_key") where "enabled"`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    enabled: p.boolean(),
    triggerKind: p.text(),
    /** The id that the trigger is bound to (`triggerKey`), such as a list. It is null if every event of its kind starts the journey. */
    triggerKey: p.text().nullable(),
    /** The newest version, which contacts enter. */
    version: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Journey extends JourneySchema.class {}
JourneySchema.setClass(Journey)

/** A version of a journey. It never changes: a run stays on the version that it entered. */
const JourneyVersionSchema = defineEntity({
  name: 'JourneyVersion',
  tableName: 'journey_versions',
  filters: tenantFilter,
  indexes: [
    {
      name: 'journey_versions_look_index',
      expression: `create index "journey_versions_look_index" on "journey_versions" ("look_at") where "look_at" is not null`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    journeyId: p.text().collation('C').primary(),
    version: p.integer().primary(),
    definition: p.json<Definition>(),
    /** When to check whether it still has runs. It is null for the newest version. */
    lookAt: p.datetime().nullable(),
  },
})
export class JourneyVersion extends JourneyVersionSchema.class {}
JourneyVersionSchema.setClass(JourneyVersion)

/** The exit rules of each version, one row per rule, so that an event finds them by index. */
const JourneyExitSchema = defineEntity({
  name: 'JourneyExit',
  tableName: 'journey_exits',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    rule: p.text().primary(),
    journeyId: p.text().collation('C').primary(),
    version: p.integer().primary(),
  },
})
export class JourneyExit extends JourneyExitSchema.class {}
JourneyExitSchema.setClass(JourneyExit)

const active = `where "status" in ('running', 'waiting')`
const due = `(greatest("due_at", "retry_at"))`

/**
 * One contact's way through a journey, with its next step and the time of that step. A queue table without relations. A run has
 * no owner column: a worker holds an advisory lock on it until its transaction ends (journeys/engine/runs.take.ts).
 *
 * The statistics of a queue that empties and fills are unreliable, so the indexes and conditions leave the planner one choice:
 * every id that is looked up begins an index, the account is compared as `account_id || ''`, and the two indexes on times name
 * their columns in different orders, so that neither can replace the other.
 */
const JourneyRunSchema = defineEntity({
  name: 'JourneyRun',
  tableName: 'journey_runs',
  indexes: [
    { properties: ['journeyId', 'rowId'] },
    {
      name: 'journey_runs_due_index',
      expression: `create index "journey_runs_due_index" on "journey_runs" (${due}) ${active} and "delivery_id" is null`,
    },
    {
      name: 'journey_runs_turn_index',
      expression: `create index "journey_runs_turn_index" on "journey_runs" ("account_id", (greatest("retry_at", "due_at"))) ${active} and "delivery_id" is null`,
    },
    {
      name: 'journey_runs_active_index',
      expression: `create index "journey_runs_active_index" on "journey_runs" ("row_id") ${active}`,
    },
    {
      name: 'journey_runs_awaited_index',
      expression: `create index "journey_runs_awaited_index" on "journey_runs" ("account_id", "awaited") where "awaited" is not null`,
    },
    {
      name: 'journey_runs_delivery_index',
      expression: `create index "journey_runs_delivery_index" on "journey_runs" ("delivery_id") where "delivery_id" is not null`,
    },
    // The journey is the second column, so that a query by journey only can't choose this index instead of one by contact.
    {
      name: 'journey_runs_version_index',
      expression: `create index "journey_runs_version_index" on "journey_runs" ("version", "journey_id") ${active}`,
    },
    {
      name: 'journey_runs_ended_index',
      expression: `create index "journey_runs_ended_index" on "journey_runs" ("ended_at") where "ended_at" is not null`,
    },
    {
      name: 'journey_runs_data_index',
      expression: `create index "journey_runs_data_index" on "journey_runs" ("ended_at") where "ended_at" is not null and ("context" -> 'data') is not null`,
    },
    {
      name: 'journey_runs_root_index',
      expression: `create index "journey_runs_root_index" on "journey_runs" ("root_id") where "root_id" is not null`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    journeyId: p.text().collation('C'),
    version: p.integer(),
    listId: p.text().collation('C'),
    rowId: p.text().collation('C'),
    email: p.text().collation('C'),
    status: p.enum(runStatuses),
    /** Why it ended early. */
    reason: p.text().nullable(),
    /** The place of the next step. It is null once the run has ended. */
    cursor: p.json<Cursor>().nullable(),
    /** Number of completed steps. */
    stepNo: p.integer().default(0),
    /** Incremented by every change: a unit of work that read an older revision can't record. */
    revision: p.integer().default(0),
    /** When its step is or was due. The step's wait counts from here. */
    dueAt: p.datetime(),
    /** The earliest time of the next try after an unexpected error, the number of tries, and the last error. */
    retryAt: p.datetime().nullable(),
    tries: p.integer().default(0),
    lastFault: p.text().nullable(),
    /** The event type that a `wait-for` waits for, and its `where`. */
    awaited: p.text().nullable(),
    awaitedWhere: p.json<AwaitedWhere>().nullable(),
    /** The delivery that it waits for. Until that ends the run is not due. */
    deliveryId: p.text().collation('C').nullable(),
    /** Data of the trigger, and data that the run's own steps keep. */
    context: p.json<Record<string, unknown>>(),
    /** The number of journey runs between this run and the external trigger. */
    depth: p.integer().default(0),
    /** The first run of the chain of journeys that caused it. It is null if an external trigger started it. */
    rootId: p.text().collation('C').nullable(),
    enteredAt: p.datetime(),
    endedAt: p.datetime().nullable(),
  },
})
export class JourneyRun extends JourneyRunSchema.class {}
JourneyRunSchema.setClass(JourneyRun)

/**
 * A contact that has been in a journey. The row outlives the contact's purged runs, so that `reentry: never` holds permanently. It
 * identifies the contact by row id, which is deleted with the address.
 */
const PastEntrySchema = defineEntity({
  name: 'PastEntry',
  tableName: 'past_entries',
  properties: {
    accountId: p.text().collation('C').primary(),
    listId: p.text().collation('C').primary(),
    rowId: p.text().collation('C').primary(),
    journeyId: p.text().collation('C').primary(),
  },
})
export class PastEntry extends PastEntrySchema.class {}
PastEntrySchema.setClass(PastEntry)

/** The completed steps of a run, one row per step. The key prevents that a step is done twice. */
const JourneyStepLogSchema = defineEntity({
  name: 'JourneyStepLog',
  tableName: 'journey_step_log',
  properties: {
    accountId: p.text().collation('C').primary(),
    runId: p.text().collation('C').primary(),
    stepNo: p.integer().primary(),
    at: p.datetime(),
    /** The step's place in the definition: `steps[2].then[0]`. */
    step: p.text(),
    kind: p.text(),
    outcome: p.text(),
  },
})
export class JourneyStepLog extends JourneyStepLogSchema.class {}
JourneyStepLogSchema.setClass(JourneyStepLog)

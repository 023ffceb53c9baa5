import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'
import { type Definition, runStatuses } from './journeys.definition.ts'
import type { Cursor } from './journeys.walk.ts'

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
    /** What the trigger is bound to (`triggerKey`); null where anything of its kind starts it. */
    triggerKey: p.text().nullable(),
    /** The newest version: the one that a contact enters. */
    version: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Journey extends JourneySchema.class {}
JourneySchema.setClass(Journey)

/** Never changed: a run goes on with the version that it entered. */
const JourneyVersionSchema = defineEntity({
  name: 'JourneyVersion',
  tableName: 'journey_versions',
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
    /** When to look whether it still has runs; null while contacts enter it. */
    lookAt: p.datetime().nullable(),
  },
})
export class JourneyVersion extends JourneyVersionSchema.class {}
JourneyVersionSchema.setClass(JourneyVersion)

/** The exit rules of each version, a row each: what an event looks for by index. */
const JourneyExitSchema = defineEntity({
  name: 'JourneyExit',
  tableName: 'journey_exits',
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
 * One contact on its way through a journey, with its next step and that step's time. A queue table without relations. Nobody
 * owns a run: who walks it holds an advisory lock while its transaction lasts (run.due.ts). What is looked up by an id of any
 * kind has an index that begins with it, and the account is compared as `account_id || ''`: no plan is left but the direct one,
 * whatever the statistics of an emptied queue say. The two indexes on times name the columns in different orders for the same
 * reason: neither can be taken for the other.
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
    /** Why it ended before the journey's end. */
    reason: p.text().nullable(),
    /** The next step; null once the run has ended. */
    cursor: p.json<Cursor>().nullable(),
    /** Steps done. */
    stepNo: p.integer().default(0),
    /** Counts changes: who has walked an older revision may not record. */
    revision: p.integer().default(0),
    /** When its step is due, and since when: waits count from it. */
    dueAt: p.datetime(),
    /** After a fault of ours: not before this, the how many-th time, and why. */
    retryAt: p.datetime().nullable(),
    tries: p.integer().default(0),
    lastFault: p.text().nullable(),
    /** The event type that a `wait-for` waits for, and what it must hold: path to value. */
    awaited: p.text().nullable(),
    awaitedWhere: p.json<Record<string, string | number | boolean | null>>().nullable(),
    /** The delivery whose end it waits for: until then it is not due. */
    deliveryId: p.text().collation('C').nullable(),
    /** What the trigger brought along, and what the run itself keeps. */
    context: p.json<Record<string, unknown>>(),
    /** How many journeys stand between this run and a trigger from outside. */
    depth: p.integer().default(0),
    /** The run from which journeys caused it, at whatever depth; null where the trigger came from outside. */
    rootId: p.text().collation('C').nullable(),
    enteredAt: p.datetime(),
    endedAt: p.datetime().nullable(),
  },
})
export class JourneyRun extends JourneyRunSchema.class {}
JourneyRunSchema.setClass(JourneyRun)

/**
 * A contact that has been in a journey, kept when its last runs are purged, so that `reentry: never` holds for ever. It names the
 * contact by its row id, which dies with the address.
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

/** What a run did, a row a step: its key lets no step of a run be done twice. */
const JourneyStepLogSchema = defineEntity({
  name: 'JourneyStepLog',
  tableName: 'journey_step_log',
  properties: {
    accountId: p.text().collation('C').primary(),
    runId: p.text().collation('C').primary(),
    stepNo: p.integer().primary(),
    at: p.datetime(),
    /** Its place in the definition: `steps[2].then[0]`. */
    step: p.text(),
    kind: p.text(),
    outcome: p.text(),
  },
})
export class JourneyStepLog extends JourneyStepLogSchema.class {}
JourneyStepLogSchema.setClass(JourneyStepLog)

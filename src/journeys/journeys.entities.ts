import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'
import { type Definition, runStatuses } from './journeys.definition.ts'
import type { Cursor } from './journeys.walk.ts'

const JourneySchema = defineEntity({
  name: 'Journey',
  tableName: 'journeys',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  indexes: [{ properties: ['accountId', 'triggerKind'] }],
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
  properties: {
    accountId: p.text().collation('C').primary(),
    journeyId: p.text().collation('C').primary(),
    version: p.integer().primary(),
    definition: p.json<Definition>(),
  },
})
export class JourneyVersion extends JourneyVersionSchema.class {}
JourneyVersionSchema.setClass(JourneyVersion)

const active = `where "status" in ('running', 'waiting')`

/**
 * One contact on its way through a journey, with its next step and that step's time. A queue table: no relations, claimed
 * by one statement, and what the claim changes (`claim`, `leasedUntil`) stands in no index.
 */
const JourneyRunSchema = defineEntity({
  name: 'JourneyRun',
  tableName: 'journey_runs',
  indexes: [
    { properties: ['accountId', 'journeyId', 'rowId'] },
    {
      name: 'journey_runs_due_index',
      expression: `create index "journey_runs_due_index" on "journey_runs" ("account_id", "due_at") ${active}`,
    },
    {
      name: 'journey_runs_active_index',
      expression: `create index "journey_runs_active_index" on "journey_runs" ("account_id", "row_id") ${active}`,
    },
    {
      name: 'journey_runs_awaited_index',
      expression: `create index "journey_runs_awaited_index" on "journey_runs" ("account_id", "awaited", "row_id") where "awaited" is not null`,
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
    dueAt: p.datetime(),
    /** Counts claims: only the newest claim may record its step. */
    claim: p.integer().default(0),
    leasedUntil: p.datetime().nullable(),
    /** The event type that a `wait-for` waits for, and what it must hold: path to value. */
    awaited: p.text().nullable(),
    awaitedWhere: p.json<Record<string, string | number | boolean | null>>().nullable(),
    /** What the trigger brought along. */
    context: p.json<Record<string, unknown>>(),
    /** How many journeys stand between this run and a trigger from outside. */
    depth: p.integer().default(0),
    enteredAt: p.datetime(),
    endedAt: p.datetime().nullable(),
  },
})
export class JourneyRun extends JourneyRunSchema.class {}
JourneyRunSchema.setClass(JourneyRun)

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

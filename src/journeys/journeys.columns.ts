// Generated from journeys.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './journeys.entities.ts'

export const journeys = table('journeys', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  enabled: 'bool',
  triggerKind: 'text',
  triggerKey: 'text?',
  version: 'int4',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const journeyExits = table('journey_exits', {
  accountId: 'text',
  rule: 'text',
  journeyId: 'text',
  version: 'int4',
})

export const journeyRuns = table('journey_runs', {
  accountId: 'text',
  id: 'text',
  journeyId: 'text',
  version: 'int4',
  listId: 'text',
  rowId: 'text',
  email: 'text',
  status: typed<entities.JourneyRun['status']>('text'),
  reason: 'text?',
  cursor: typed<entities.JourneyRun['cursor']>('jsonb'),
  stepNo: 'int4',
  revision: 'int4',
  dueAt: 'timestamptz',
  retryAt: 'timestamptz?',
  tries: 'int4',
  lastFault: 'text?',
  awaited: 'text?',
  awaitedWhere: typed<entities.JourneyRun['awaitedWhere']>('jsonb'),
  deliveryId: 'text?',
  context: typed<entities.JourneyRun['context']>('jsonb'),
  depth: 'int4',
  rootId: 'text?',
  enteredAt: 'timestamptz',
  endedAt: 'timestamptz?',
})

export const journeyStepLog = table('journey_step_log', {
  accountId: 'text',
  runId: 'text',
  stepNo: 'int4',
  at: 'timestamptz',
  step: 'text',
  kind: 'text',
  outcome: 'text',
})

export const journeyVersions = table('journey_versions', {
  accountId: 'text',
  journeyId: 'text',
  version: 'int4',
  definition: typed<entities.JourneyVersion['definition']>('jsonb'),
  lookAt: 'timestamptz?',
})

export const pastEntries = table('past_entries', {
  accountId: 'text',
  listId: 'text',
  rowId: 'text',
  journeyId: 'text',
})

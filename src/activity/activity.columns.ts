// Generated from activity.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './activity.entities.ts'

export const activities = table('activities', {
  accountId: 'text',
  id: 'text',
  email: 'text',
  name: 'text',
  data: typed<entities.Activity['data']>('jsonb'),
  at: 'timestamptz',
})

export const activityKeys = table('activity_keys', {
  accountId: 'text',
  key: 'text',
  activityId: 'text',
  journeys: 'int4',
})

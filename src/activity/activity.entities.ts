import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

/** An event that a program reported about a person (POST /events). Rows are never updated. */
const ActivitySchema = defineEntity({
  name: 'Activity',
  tableName: 'activities',
  filters: tenantFilter,
  indexes: [{ name: 'activities_email_index', properties: ['accountId', 'email', 'name'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    email: p.text().collation('C'),
    name: p.text().collation('C'),
    /** Its properties as texts. It is null if there are none. */
    data: p.json<Record<string, string>>().nullable(),
    at: p.datetime(),
  },
})
export class Activity extends ActivitySchema.class {}
ActivitySchema.setClass(Activity)

/** The idempotency key of a reported event, with the result of its first call. The row stays when the event is deleted. */
const ActivityKeySchema = defineEntity({
  name: 'ActivityKey',
  tableName: 'activity_keys',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    key: p.text().collation('C').primary(),
    activityId: p.text().collation('C'),
    /** The number of journeys that the event started. */
    journeys: p.integer(),
  },
})
export class ActivityKey extends ActivityKeySchema.class {}
ActivityKeySchema.setClass(ActivityKey)

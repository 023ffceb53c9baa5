import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from './tenant.ts'

/** What happened on a day around a subject (a feature, or the id of an object), added up from `day_tallies` (store/tallies.ts). */
const DayCountSchema = defineEntity({
  name: 'DayCount',
  tableName: 'day_counts',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    subject: p.text().collation('C').primary(),
    day: p.date().primary(),
    /** The counts by name, without zeros. */
    counts: p.json<Record<string, number>>(),
  },
})
export class DayCount extends DayCountSchema.class {}
DayCountSchema.setClass(DayCount)

/** Changes that are not in `day_counts` yet. Each is a row of its own, so that writers of an account never wait for each other. */
const DayTallySchema = defineEntity({
  name: 'DayTally',
  tableName: 'day_tallies',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    subject: p.text().collation('C').primary(),
    id: p.uuid().defaultRaw('gen_random_uuid()').primary(),
    day: p.date(),
    counts: p.json<Record<string, number>>(),
  },
})
export class DayTally extends DayTallySchema.class {}
DayTallySchema.setClass(DayTally)

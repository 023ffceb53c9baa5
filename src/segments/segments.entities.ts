import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'
import type { FilterNames } from './segments.terms.ts'

/** A named filter of the contacts of a list. No foreign key: it stays when its list is deleted. */
const SegmentSchema = defineEntity({
  name: 'Segment',
  tableName: 'segments',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    listId: p.text().collation('C'),
    filter: p.text(),
    /** What the names in the filter stand for (segments.compile.ts). It is null if it was stored before names were resolved. */
    filterNames: p.json<FilterNames>().nullable(),
    createdAt: p.datetime(),
  },
})
export class Segment extends SegmentSchema.class {}
SegmentSchema.setClass(Segment)

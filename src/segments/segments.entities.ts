import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

/** A named filter of the contacts of a list. It never changes. No foreign key: it stays when its list is deleted. */
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
    createdAt: p.datetime(),
  },
})
export class Segment extends SegmentSchema.class {}
SegmentSchema.setClass(Segment)

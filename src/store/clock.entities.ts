import { defineEntity, p } from '@mikro-orm/postgresql'

/** At most one row, which only `svc dev` inserts. A database that has it is a development database: its clock may be moved. */
const DevelopmentClockSchema = defineEntity({
  name: 'DevelopmentClock',
  tableName: 'development_clock',
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** How far the database's clock is ahead of the system clock. */
    offsetMs: p.bigint('number'),
  },
})
export class DevelopmentClock extends DevelopmentClockSchema.class {}
DevelopmentClockSchema.setClass(DevelopmentClock)

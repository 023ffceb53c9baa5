import { defineEntity, p } from '@mikro-orm/postgresql'

/** At most one row, put there by `svc dev` alone: a database that has it is a development one, and its time may be moved. */
const DevelopmentClockSchema = defineEntity({
  name: 'DevelopmentClock',
  tableName: 'development_clock',
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** How far the database's time is ahead of the system's. */
    offsetMs: p.bigint('number'),
  },
})
export class DevelopmentClock extends DevelopmentClockSchema.class {}
DevelopmentClockSchema.setClass(DevelopmentClock)

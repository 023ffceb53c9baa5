import { defineEntity, p } from '@mikro-orm/postgresql'

/** Processes that claim from a queue. A worker is alive as long as a session holds the advisory lock of its id. */
const WorkerSchema = defineEntity({
  name: 'Worker',
  tableName: 'workers',
  properties: {
    id: p.integer().primary(),
    job: p.text(),
    seenAt: p.datetime(),
  },
})
export class Worker extends WorkerSchema.class {}
WorkerSchema.setClass(Worker)

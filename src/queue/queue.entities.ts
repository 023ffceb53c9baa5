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

/** Queues that an operator has paused (holds.ts). */
const QueueHoldSchema = defineEntity({
  name: 'QueueHold',
  tableName: 'queue_holds',
  properties: {
    queue: p.text().primary(),
    heldAt: p.datetime(),
  },
})
export class QueueHold extends QueueHoldSchema.class {}
QueueHoldSchema.setClass(QueueHold)

import { broadcastsChannel } from '../../broadcasts/broadcasts.loop.ts'
import { journeysChannel } from '../../journeys/journeys.channel.ts'
import { holdQueues, holdsChannel, type QueueName, queueNames, queueOfName, releaseQueues } from '../../queue/holds.ts'
import type { App, Operation } from '../../store/work.ts'
import { readQueues } from '../queue-depths.ts'

/** A queue as `svc queues` shows it. */
export interface QueueState {
  queue: QueueName
  state: 'running' | 'paused'
  /** The time since which it is paused (epoch ms). It is null if the queue runs. */
  since: number | null
  /** The number of due items, claimed or not. */
  pending: number
  /** The time for which the oldest of them has been due. It is 0 if there are none. */
  oldestSeconds: number
}

/** Returns the named queue, or all queues without a name. Throws Problem `not_found` for an unknown name. */
export const namedQueues = (name: string | undefined): readonly QueueName[] =>
  name === undefined ? queueNames : [queueOfName(name)]

export const showQueues = async (app: Pick<App, 'sql'>, queues: readonly QueueName[]): Promise<QueueState[]> =>
  (await readQueues(app))
    .filter(({ queue }) => queues.includes(queue))
    .map(({ queue, depth, oldestSeconds, pausedAt }) => ({
      queue,
      state: pausedAt === null ? 'running' : 'paused',
      since: pausedAt,
      pending: depth,
      oldestSeconds,
    }))

/** Pauses queues, and returns their state. What has started finishes; a queue that is paused already stays as it is. */
export const pauseQueues = async (operation: Operation, queues: readonly QueueName[]): Promise<QueueState[]> => {
  await holdQueues(operation.sql, queues)
  operation.announce(holdsChannel)
  return showQueues(operation, queues)
}

/** Resumes queues, and returns their state. What is due leaves at once. */
export const resumeQueues = async (operation: Operation, queues: readonly QueueName[]): Promise<QueueState[]> => {
  await releaseQueues(operation.sql, queues)
  for (const channel of [holdsChannel, journeysChannel, broadcastsChannel]) operation.announce(channel)
  return showQueues(operation, queues)
}

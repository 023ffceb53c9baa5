import type { Context } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { argument, changing, confirmed } from '../../cli/flags.ts'
import { type Column, properties } from '../../cli/output.ts'
import { number, quantity } from '../../lib/quantity.ts'
import type { QueueState } from './queue-states.ts'

const columns: Column<QueueState>[] = [
  ...properties<QueueState>('queue', 'state'),
  ['SINCE', (queue) => (queue.since === null ? null : new Date(queue.since))],
  ['PENDING', (queue) => queue.pending],
  ['OLDEST', (queue) => (queue.pending > 0 ? `${number(Math.round(queue.oldestSeconds))} s` : null)],
]

const queue = argument('[queue]', '', { of: async () => (await import('../../queue/holds.ts')).queueNames })

/** Prints the queue that the command named, or all. */
const print = async ({ out }: Context, queues: readonly QueueState[], name: string | undefined): Promise<void> => {
  if (name === undefined) return out.list('queues', queues, columns, undefined, { id: ({ queue }) => queue })
  out.one(queues[0]!, Object.fromEntries(columns.map(([heading, cell]) => [heading.toLowerCase(), cell(queues[0]!)])))
}

/** The commands `svc queues` (docs/reference/cli.md#queues). */
export const commands: CommandList = [
  command({
    path: 'queues show',
    isDefault: true,
    summary: 'Show each queue: whether it is paused, since when, its due items and the age of the oldest',
    examples: ['svc queues', 'svc queues show sends --json'],
    arguments: [queue],
    run: async (context, name) => {
      const { namedQueues, showQueues } = await import('./queue-states.ts')
      await print(context, await showQueues(context.app, namedQueues(name)), name)
    },
  }),

  command({
    path: 'queues pause',
    summary: 'Pause a queue, or all: what is in it does not leave until it is resumed',
    examples: ['svc queues pause', 'svc queues pause sends'],
    arguments: [queue],
    flags: changing(),
    run: async (context, name) => {
      const { namedQueues, pauseQueues } = await import('./queue-states.ts')
      const queues = namedQueues(name)
      await print(context, await context.operate((operation) => pauseQueues(operation, queues)), name)
    },
  }),

  command({
    path: 'queues resume',
    summary: 'Resume a paused queue, or all: what is due leaves at once',
    examples: ['svc queues resume deliveries', 'svc queues resume --yes'],
    arguments: [queue],
    flags: confirmed(),
    run: async (context, name, flags) => {
      const { namedQueues, resumeQueues, showQueues } = await import('./queue-states.ts')
      const queues = namedQueues(name)
      const paused = (await showQueues(context.app, queues)).filter(({ state }) => state === 'paused')
      const due = paused.map(({ queue, pending }) => `${queue}, with ${quantity(pending, 'due item')}`)
      if (paused.length > 0 || flags.dryRun) {
        const what = due.length > 0 ? `resume ${due.join(', and ')}` : 'resume nothing: no such queue is paused'
        if (!(await context.confirm(what, flags, { queues: paused }))) return
      }
      await print(context, await context.operate((operation) => resumeQueues(operation, queues)), name)
    },
  }),
]

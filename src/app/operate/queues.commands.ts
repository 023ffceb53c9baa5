import { type CommandSet, type Confirmation, type Context, changing, confirmed, examples } from '../../cli/command.ts'
import type { Column } from '../../cli/output.ts'
import { number, quantity } from '../../lib/quantity.ts'
import type { QueueState } from './queue-states.ts'

const columns: Column<QueueState>[] = [
  ['QUEUE', (queue) => queue.queue],
  ['STATE', (queue) => queue.state],
  ['SINCE', (queue) => (queue.since === null ? null : new Date(queue.since))],
  ['PENDING', (queue) => queue.pending],
  ['OLDEST', (queue) => (queue.pending > 0 ? `${number(Math.round(queue.oldestSeconds))} s` : null)],
]

/** Prints the queue that the command named, or all. */
const print = async ({ out }: Context, queues: readonly QueueState[], name: string | undefined): Promise<void> => {
  if (name === undefined) return out.list('queues', queues, columns, undefined, { id: ({ queue }) => queue })
  out.one(queues[0]!, Object.fromEntries(columns.map(([heading, cell]) => [heading.toLowerCase(), cell(queues[0]!)])))
}

/** `svc queues` (docs/reference/cli.md#queues). */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('queues')

  noun
    .command('show', { isDefault: true })
    .description('Show each queue: whether it is paused, since when, its due items and the age of the oldest')
    .addHelpText('after', examples('svc queues', 'svc queues show sends --json'))
    .argument('[queue]')
    .action(
      cli.run(async (context, name: string | undefined) => {
        const { namedQueues, showQueues } = await import('./queue-states.ts')
        await print(context, await showQueues(context.app, namedQueues(name)), name)
      }),
    )

  changing(
    noun
      .command('pause')
      .description('Pause a queue, or all: what is in it does not leave until it is resumed')
      .addHelpText('after', examples('svc queues pause', 'svc queues pause sends'))
      .argument('[queue]'),
  ).action(
    cli.run(async (context, name: string | undefined) => {
      const { namedQueues, pauseQueues } = await import('./queue-states.ts')
      const queues = namedQueues(name)
      await print(context, await context.operate((operation) => pauseQueues(operation, queues)), name)
    }),
  )

  confirmed(
    noun
      .command('resume')
      .description('Resume a paused queue, or all: what is due leaves at once')
      .addHelpText('after', examples('svc queues resume deliveries', 'svc queues resume --yes'))
      .argument('[queue]'),
  ).action(
    cli.run(async (context, name: string | undefined, flags: Confirmation) => {
      const { namedQueues, resumeQueues, showQueues } = await import('./queue-states.ts')
      const queues = namedQueues(name)
      const paused = (await showQueues(context.app, queues)).filter(({ state }) => state === 'paused')
      const due = paused.map(({ queue, pending }) => `${queue}, with ${quantity(pending, 'due item')}`)
      if (paused.length > 0 || flags.dryRun) {
        const what = due.length > 0 ? `resume ${due.join(', and ')}` : 'resume nothing: no such queue is paused'
        if (!(await context.confirm(what, flags, { queues: paused }))) return
      }
      await print(context, await context.operate((operation) => resumeQueues(operation, queues)), name)
    }),
  )
}

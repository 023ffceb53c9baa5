import { setTimeout as sleep } from 'node:timers/promises'
import { type CommandSet, type Context, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page.ts'
import type { BroadcastView } from './broadcasts.ts'

const columns: Column<BroadcastView>[] = [
  ['ID', (row) => row.id],
  ['STATUS', (row) => row.status],
  ['RECIPIENTS', (row) => row.recipients],
  ['QUEUED', (row) => row.queued],
  ['SENT', (row) => row.sent],
  ['FAILED', (row) => row.failed],
  ['SUPPRESSED', (row) => row.suppressed],
  ['SCHEDULED', (row) => (row.scheduledAt === null ? null : new Date(row.scheduledAt))],
  ['CREATED', (row) => new Date(row.createdAt)],
  ['LIST', (row) => row.listId],
  ['PROJECT', (row) => row.projectId],
]

interface CreateFlags {
  list?: string
  project?: string
  subject?: string
  at?: string
  rate?: string
  follow?: boolean
  dryRun?: boolean
}

const followMs = 1000
const nobody = 'Nothing is sent before a daemon runs: svc serve, or svc jobs run'

const mails = (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'mail' : 'mails'}`

/** A bar on stderr of what `done` counts, of all recipients. */
const watch = ({ progress, work }: Context, id: string, done: (view: BroadcastView) => number) => {
  const bar = progress('mails')
  return {
    async look(): Promise<BroadcastView> {
      const { showBroadcast } = await import('./broadcasts.ts')
      const view = await work((w) => showBroadcast(w, id))
      const rows = done(view)
      bar.update({ rows, fraction: view.recipients > 0 ? Math.min(1, rows / view.recipients) : null })
      return view
    },
    stop: bar.stop,
  }
}

const ended = ({ sent, failed, suppressed }: BroadcastView) => sent + failed + suppressed
const handled = (view: BroadcastView) => view.queued + ended(view)

/** Queues its mails here and now; a daemon goes on where this is interrupted. */
const queue = async (context: Context, id: string, done: typeof handled): Promise<void> => {
  const { queueBroadcast } = await import('./broadcasts.ts')
  const { app, actor, signal } = context
  const { id: accountId } = await context.account()
  const bar = watch(context, id, done)
  const onStep = async () => {
    await bar.look()
  }
  await queueBroadcast(app, accountId, id, { actor, signal, onStep }).finally(bar.stop)
}

/** Waits for its end, as long as somebody sends. */
const follow = async (context: Context, id: string): Promise<void> => {
  const { isMailCarried } = await import('./broadcasts.ts')
  const { app, signal, out } = context
  const bar = watch(context, id, ended)
  try {
    for (;;) {
      const { status } = await bar.look()
      if (status === 'done' || status === 'cancelled' || signal.aborted) return
      if (!(await isMailCarried(app))) {
        bar.stop()
        return out.note(nobody)
      }
      await sleep(followMs, undefined, { signal }).catch(() => {})
    }
  } finally {
    bar.stop()
  }
}

const create = async (context: Context, flags: CreateFlags): Promise<void> => {
  const { list, project } = await context.require({ list: flags.list, project: flags.project })
  const [operations, { parse }] = await Promise.all([import('./broadcasts.ts'), import('../lib/parse.ts')])
  const { subject, at, rate } = flags
  const input = parse(operations.NewBroadcast, { list, project, subject, at, rate })
  const { app, out, work } = context
  if (flags.dryRun) {
    const plan = await work((w) => operations.planBroadcast(app, w, input))
    out.one({ dryRun: true, ...plan })
    return out.note(`Would send ${mails(plan.mails)}, leaving out ${plan.suppressed} suppressed. Nothing was changed.`)
  }
  const { id, scheduledAt } = await work((w) => operations.createBroadcast(app, w, input))
  if (scheduledAt === null) await queue(context, id, handled)
  const isCarried = await operations.isMailCarried(app)
  if (flags.follow && isCarried) await follow(context, id)
  else if (!isCarried) out.note(nobody)
  out.one(await work((w) => operations.showBroadcast(w, id)))
}

/** `svc broadcasts`: one marketing mail to everybody in a list. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('broadcasts')

  noun
    .command('create')
    .description('Send a project to every active contact of a list, now or at a time; daemons do the sending')
    .option('--list <id|name>', 'to whom: the list as it stands when sending begins')
    .option('--project <id|name>', 'the project that the mails are rendered of')
    .option('--subject <subject>', 'left out: the name of the project')
    .option('--at <time>', 'begin then, such as 2026-12-01T09:00:00Z; left out: at once')
    .option('--rate <n>', 'at most so many mails a minute')
    .option('--follow', 'wait until all are sent, with a bar')
    .option('--dry-run', 'say how many mails it would send, and to how many it would not')
    .action(cli.run((context, flags: CreateFlags) => create(context, flags)))

  paged(noun.command('list', { isDefault: true }).description('List broadcasts, newest first')).action(
    cli.run(async ({ pages, work }, flags: PageFlags) => {
      const { listBroadcasts } = await import('./broadcasts.ts')
      await pages('broadcasts', flags, (page) => work((w) => listBroadcasts(w, page)), columns)
    }),
  )

  noun
    .command('show')
    .description('Show a broadcast: how many of its mails are queued, sent, failed and suppressed')
    .argument('<id>')
    .option('--follow', 'wait until all are sent, with a bar')
    .action(
      cli.run(async (context, id: string, flags: { follow?: boolean }) => {
        const { showBroadcast } = await import('./broadcasts.ts')
        const { out, work } = context
        const view = await work((w) => showBroadcast(w, id))
        if (flags.follow) await follow(context, id)
        out.one(flags.follow ? await work((w) => showBroadcast(w, id)) : view)
      }),
    )

  noun
    .command('cancel')
    .description('Stop a broadcast: what has not been handed over ends as failed, and its volume is given back')
    .argument('<id>')
    .option('--yes', 'do it without asking; what is named by its id is not asked about')
    .option('--dry-run', 'say how many mails it would stop')
    .action(
      cli.run(async (context, id: string, flags: { dryRun?: boolean }) => {
        const { cancelBroadcast, showBroadcast } = await import('./broadcasts.ts')
        const { out, work } = context
        if (flags.dryRun) {
          const view = await work((w) => showBroadcast(w, id))
          out.one({ dryRun: true, ...view })
          return out.note(`Would stop up to ${mails(view.recipients - ended(view))}. Nothing was changed.`)
        }
        await work((w) => cancelBroadcast(w, id))
        await queue(context, id, ended)
        out.one(await work((w) => showBroadcast(w, id)))
      }),
    )
}

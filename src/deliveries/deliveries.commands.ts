import { type CommandSet, type Context, demandNoPage, followed, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { DeliveryFilter, DeliveryStats, DeliveryView } from './deliveries.find.ts'
import type { Batch, Run } from './deliveries.replay.ts'

const told: Column<DeliveryView>[] = [
  ['ID', (delivery) => delivery.id],
  ['TYPE', (delivery) => delivery.type],
  ['STATUS', (delivery) => delivery.status],
  ['TRIES', (delivery) => delivery.attempts],
  ['ANSWER', (delivery) => delivery.lastStatus],
  ['ERROR', (delivery) => delivery.lastError],
]

const columns: Column<DeliveryView>[] = [
  ...told,
  ['NEXT', (delivery) => (delivery.nextAttemptAt === null ? null : new Date(delivery.nextAttemptAt))],
  ['CREATED', (delivery) => new Date(delivery.createdAt)],
  ['WEBHOOK', (delivery) => delivery.webhookId],
]

/** As it happens: the time of day, and last what may be long. */
const followColumns = (now: () => Date): Column<DeliveryView>[] => [
  ['TIME', () => now().toTimeString().slice(0, 8)],
  ...told,
]

const statsColumns: Column<DeliveryStats['webhooks'][number]>[] = [
  ['WEBHOOK', (row) => row.id],
  ['URL', (row) => row.url],
  ['PENDING', (row) => row.pending],
  ['DELIVERED', (row) => row.delivered],
  ['EXHAUSTED', (row) => row.exhausted],
  ['CANCELLED', (row) => row.cancelled],
  ['OLDEST DUE', (row) => (row.oldestDueAt === null ? null : new Date(row.oldestDueAt))],
]

interface FilterOptions {
  status?: string
  webhook?: string
  type?: string
  since?: string
}

interface BulkOptions extends FilterOptions {
  yes?: boolean
  dryRun?: boolean
}

const filterOf = async (
  { status, webhook, type, since }: FilterOptions,
  nowMs: number,
  ids?: string[],
): Promise<DeliveryFilter> => {
  const [{ DeliveryFilter }, { parse }, { parseSince }] = await Promise.all([
    import('./deliveries.find.ts'),
    import('../lib/parse.ts'),
    import('../lib/since.ts'),
  ])
  return parse(DeliveryFilter, { ids, status, webhook, type, ...(since && { since: parseSince(since, nowMs) }) })
}

/** What a bulk command is about: deliveries by id, or those that match a filter; never all of them by default. */
const chosen = async ({ app, work }: Context, ids: string[], options: FilterOptions): Promise<DeliveryFilter> => {
  const { status, webhook, type, since } = options
  const isFiltered = [status, webhook, type, since].some((value) => value !== undefined)
  if (ids.length === 0 && !isFiltered) {
    throw new Problem('usage', 'Name deliveries by id, or by --status, --webhook, --type or --since')
  }
  if (ids.length > 0 && isFiltered) throw new Problem('usage', 'Name deliveries by id or by a filter, not by both')
  const filter = await filterOf(options, app.now().getTime(), ids.length > 0 ? ids : undefined)
  if (ids.length > 0) {
    const { demandDeliveries } = await import('./deliveries.replay.ts')
    await work((w) => demandDeliveries(w, ids))
  }
  return filter
}

const follow = async (context: Context, filter: DeliveryFilter, flags: PageFlags): Promise<void> => {
  demandNoPage(flags)
  const { account, app, out, work } = context
  const [{ deliveryChanges }, { deliveriesChannel }] = await Promise.all([
    import('./deliveries.follow.ts'),
    import('./deliveries.insert.ts'),
  ])
  await account()
  const changes = deliveryChanges(filter, filter.since ?? app.now().getTime())
  const write = out.stream(out.format === 'table' ? followColumns(app.now) : columns)
  await context.follow(deliveriesChannel, async () => write(await work(changes)))
}

/** Runs batch after batch, each in a transaction, until nothing is left or the command is interrupted. */
const runBatches = async (
  { app, work, signal, progress }: Context,
  expected: number,
  change: (work: Work, run: Run) => Promise<Batch>,
) => {
  const bar = progress('deliveries')
  const run: Run = { startedAt: app.now(), changed: 0 }
  let matched = 0
  try {
    while (!signal.aborted) {
      const batch = await work((w) => change(w, run))
      if (batch.next === null) break
      matched += batch.matched
      run.next = batch.next
      run.changed += batch.changed
      bar.update({ rows: matched, fraction: Math.min(1, matched / Math.max(expected, 1)) })
    }
  } finally {
    bar.stop()
  }
  return { matched, changed: run.changed }
}

const counted = (count: number) => `${count} ${count === 1 ? 'delivery' : 'deliveries'}`

const rateOf = (text: string): number => {
  const rate = Number(text)
  if (rate > 0 && rate <= 1e6) return rate
  throw new Problem('usage', '--rate must be a number of deliveries per second')
}

export const commands: CommandSet = (cli) => {
  const noun = cli.noun('deliveries')

  const filtered = (name: string, summary: string, options?: { isDefault: true }) =>
    noun
      .command(name, options ?? {})
      .description(summary)
      .option('--webhook <id>', 'to this webhook')
      .option('--type <type>', 'of this event type')
      .option('--since <age|time>', 'made since, such as 2h or 2026-11-20T08:00:00Z')

  const statusOption = ['--status <status>', 'pending, delivered, exhausted or cancelled'] as const

  const bulk = (name: string, summary: string) =>
    filtered(name, summary)
      .argument('[ids...]')
      .option('--yes', 'do it without asking')
      .option('--dry-run', 'count what would change')

  const list = filtered('list', 'List deliveries, newest first', { isDefault: true }).option(...statusOption)
  followed(paged(list)).action(
    cli.run(async (context, options: FilterOptions & PageFlags & { follow?: boolean }) => {
      const { app, pages, work } = context
      const { listDeliveries } = await import('./deliveries.find.ts')
      const filter = await filterOf(options, app.now().getTime())
      if (options.follow) return follow(context, filter, options)
      await pages('deliveries', options, (page) => work((w) => listDeliveries(w, filter, page)), columns)
    }),
  )

  noun
    .command('show')
    .description('Show a delivery with every attempt and the body that it posts')
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showDelivery } = await import('./deliveries.find.ts')
        out.one(await work((w) => showDelivery(w, id)))
      }),
    )

  bulk('replay', 'Deliver again: same body and idempotency key, to the webhook’s current URL')
    .option(...statusOption)
    .option('--rate <n>', 'at most so many per second', rateOf)
    .action(
      cli.run(async (context, ids: string[], options: BulkOptions & { rate?: number }) => {
        const { confirm, out, work, exit } = context
        const { countDeliveries, replayBatch } = await import('./deliveries.replay.ts')
        const filter = await chosen(context, ids, options)
        const { matched, leftOut } = await work((w) => countDeliveries(w, filter))
        if (matched > 0 && matched === leftOut) {
          throw new Problem(
            'conflict',
            `Nothing can be replayed: the webhook of ${leftOut === 1 ? 'this delivery' : `these ${leftOut} deliveries`} is gone or disabled`,
          )
        }
        const refused = leftOut > 0 ? `, leaving out ${leftOut} whose webhook is gone or disabled` : ''
        const what = `replay ${counted(matched - leftOut)}${refused}`
        if (options.dryRun) return void (await confirm(what, options, { matched, leftOut }))
        // Nothing is destroyed, so nothing is asked; how many there are is said before the first goes out.
        if (ids.length === 0) out.note(`This will ${what}.`)
        const done = await runBatches(context, matched, (w, run) => replayBatch(w, filter, run, options.rate))
        const left = done.matched - done.changed
        out.one({ replayed: done.changed, leftOut: left })
        if (left > 0) exit(5)
      }),
    )

  bulk('cancel', 'Cancel deliveries that are pending').action(
    cli.run(async (context, ids: string[], options: BulkOptions) => {
      const { out, work, confirm, exit } = context
      const { cancelBatch, countDeliveries } = await import('./deliveries.replay.ts')
      const filter = await chosen(context, ids, options)
      const { matched: pending } = await work((w) => countDeliveries(w, { ...filter, status: 'pending' }))
      if (ids.length > 0 && pending === 0)
        throw new Problem('conflict', 'Nothing to cancel: no such delivery is pending')
      const isMeant = ids.length > 0 || pending === 0
      const asked = { ...options, ...(isMeant && { yes: true }) }
      if (!(await confirm(`cancel ${counted(pending)}`, asked, { pending }))) return
      const { changed } = await runBatches(context, pending, (w, run) => cancelBatch(w, filter, run))
      const leftOut = ids.length > 0 ? new Set(ids).size - changed : 0
      out.one({ cancelled: changed, leftOut })
      if (leftOut > 0) exit(5)
    }),
  )

  filtered('stats', 'Count deliveries by state, in all and for each webhook').action(
    cli.run(async ({ app, out, work }, options: FilterOptions) => {
      const { deliveryStats } = await import('./deliveries.find.ts')
      const filter = await filterOf(options, app.now().getTime())
      const stats = await work((w) => deliveryStats(w, filter))
      if (out.format === 'json' || out.format === 'jsonl') return out.one(stats)
      await out.list('deliveries', stats.webhooks, statsColumns)
    }),
  )
}

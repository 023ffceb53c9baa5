import { type Context, requireNoPage } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { argument, confirmed, followed, paged, parsed, text } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import type { PageFlags } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import { parseSince } from '../lib/since.ts'
import type { Work } from '../store/work.ts'
import type { DeliveryFilter, DeliveryStats, DeliveryView } from './deliveries.find.ts'
import type { Batch, Run } from './deliveries.replay.ts'

const commonColumns: Column<DeliveryView>[] = [
  ...properties<DeliveryView>('id', 'type', 'status'),
  ['TRIES', (delivery) => delivery.attempts],
  ['ANSWER', (delivery) => delivery.lastStatus],
  ['ERROR', (delivery) => delivery.lastError],
]

const columns: Column<DeliveryView>[] = [
  ...commonColumns,
  ['NEXT', (delivery) => (delivery.nextAttemptAt === null ? null : new Date(delivery.nextAttemptAt))],
  ...properties<DeliveryView>('createdAt', 'webhookId'),
]

/** Columns of `--follow`: the time of day first, and last the columns that may be long. */
const followColumns = (now: () => Date): Column<DeliveryView>[] => [
  ['TIME', () => now().toTimeString().slice(0, 8)],
  ...commonColumns,
]

const statsColumns: Column<DeliveryStats['webhooks'][number]>[] = [
  ['WEBHOOK', (row) => row.id],
  ...properties<DeliveryStats['webhooks'][number]>(
    'url',
    'pending',
    'delivered',
    'exhausted',
    'cancelled',
    'oldestDueAt',
  ),
]

interface FilterOptions {
  status?: string
  webhook?: string
  type?: string
  since?: string
}

const filterOf = async (
  { app, timezone, work }: Context,
  { status, webhook, type, since }: FilterOptions,
  ids?: string[],
): Promise<DeliveryFilter> => {
  const { DeliveryFilter, requireTarget } = await import('./deliveries.find.ts')
  const start = since !== undefined ? { since: parseSince(since, app.now().getTime(), await timezone()) } : {}
  const filter = await parse(DeliveryFilter, { ids, status, webhook, type, ...start })
  if (webhook !== undefined) await work((w) => requireTarget(w, webhook))
  return filter
}

/** Returns the filter of a bulk command: ids, or conditions. Throws Problem `usage` without either, so it never means all. */
const chosen = async (
  context: Context,
  ids: string[],
  options: FilterOptions,
  filters: string,
): Promise<DeliveryFilter> => {
  const { status, webhook, type, since } = options
  const isFiltered = [status, webhook, type, since].some((value) => value !== undefined)
  if (ids.length === 0 && !isFiltered) {
    throw new Problem('usage', `Name deliveries by id, or by ${filters}`)
  }
  if (ids.length > 0 && isFiltered) throw new Problem('usage', 'Name deliveries by id or by a filter, not by both')
  const filter = await filterOf(context, options, ids.length > 0 ? ids : undefined)
  if (ids.length > 0) {
    const { requireDeliveries } = await import('./deliveries.replay.ts')
    await context.work((w) => requireDeliveries(w, ids))
  }
  return filter
}

const follow = async (context: Context, filter: DeliveryFilter, flags: PageFlags): Promise<void> => {
  requireNoPage(flags)
  const { account, app, out, work } = context
  const { deliveryChanges } = await import('./deliveries.follow.ts')
  const { deliveriesChannel } = await import('./deliveries.notices.ts')
  await account()
  const changes = deliveryChanges(filter, filter.since ?? app.now().getTime())
  const write = out.stream(out.format === 'table' ? followColumns(app.now) : columns)
  await context.follow(deliveriesChannel, async () => write(await work(changes)))
}

/** Runs batches, each in a transaction, until nothing is left or the command is interrupted. */
const runBatches = (
  { app, work, signal, withProgress }: Context,
  expected: number,
  change: (work: Work, run: Run) => Promise<Batch>,
) =>
  withProgress('deliveries', expected, async (onRows) => {
    const run: Run = { startedAt: app.now(), changed: 0 }
    let matched = 0
    while (!signal.aborted) {
      const batch = await work((w) => change(w, run))
      if (batch.next === null) break
      matched += batch.matched
      run.next = batch.next
      run.changed += batch.changed
      onRows(matched)
    }
    return { matched, changed: run.changed }
  })

const counted = (count: number) => quantity(count, 'delivery', 'deliveries')

const rateOf = (text: string): number => {
  const rate = Number(text)
  if (rate > 0 && rate <= 1e6) return rate
  throw new Problem('usage', '--rate must be a number of deliveries per second, more than 0 and at most 1000000')
}

const eventTypes = async () => (await import('../events/events.ts')).eventTypes

const filterFlags = {
  webhook: text('<id>', 'only deliveries to this webhook'),
  type: text('<type>', 'only deliveries of this event type', { of: eventTypes }),
  since: text('<age|time>', 'only deliveries created since, such as 2h or 2026-11-20T08:00:00Z'),
}

const statusFlag = text('<status>', 'pending, delivered, exhausted or cancelled', {
  of: async () => (await import('./deliveries.find.ts')).deliveryStatuses,
})

export const commands: CommandList = [
  command({
    path: 'deliveries list',
    isDefault: true,
    summary: 'List deliveries, newest first',
    examples: [
      'svc deliveries --status exhausted --since 2h',
      'svc deliveries list --webhook whk_01m82xgxstm9pszdn2vy839dag --follow',
    ],
    flags: {
      ...filterFlags,
      status: statusFlag,
      ...paged,
      ...followed,
    },
    run: async (context, options) => {
      const { pages, work } = context
      const { listDeliveries } = await import('./deliveries.find.ts')
      const filter = await filterOf(context, options)
      if (options.follow) return follow(context, filter, options)
      await pages('deliveries', options, (page) => work((w) => listDeliveries(w, filter, page)), columns)
    },
  }),

  command({
    path: 'deliveries show',
    summary: 'Show a delivery with every attempt and the body that it posts',
    examples: [
      'svc deliveries show dlv_01m82xtnhcnhx5ghn2qtbtmtf5',
      'svc deliveries show dlv_01m82xtnhcnhx5ghn2qtbtmtf5 --json',
    ],
    arguments: [argument('<id>')],
    run: async ({ out, work }, id) => {
      const { showDelivery } = await import('./deliveries.find.ts')
      out.one(await work((w) => showDelivery(w, id)))
    },
  }),

  command({
    path: 'deliveries replay',
    summary: 'Deliver again: same body and idempotency key, to the webhook’s current URL',
    examples: [
      'svc deliveries replay dlv_01m82xtnhcnhx5ghn2qtbtmtf5',
      'svc deliveries replay --status exhausted --since 2h --rate 10 --dry-run',
    ],
    arguments: [argument('[ids...]')],
    flags: {
      ...filterFlags,
      ...confirmed('count what would change'),
      status: statusFlag,
      rate: parsed(rateOf, '<n>', 'at most this many per second'),
    },
    run: async (context, ids, options) => {
      const { confirm, out, work, exit } = context
      const { countDeliveries, replayBatch } = await import('./deliveries.replay.ts')
      const filter = await chosen(context, ids, options, '--status, --webhook, --type or --since')
      const { matched, leftOut } = await work((w) => countDeliveries(w, filter))
      if (matched > 0 && matched === leftOut) {
        throw new Problem(
          'conflict',
          `Nothing can be replayed: the webhook of ${leftOut === 1 ? 'this delivery' : `these ${leftOut} deliveries`} is gone or disabled`,
        )
      }
      const refused = leftOut > 0 ? `, leaving out ${number(leftOut)} whose webhook is gone or disabled` : ''
      const what = `replay ${counted(matched - leftOut)}${refused}: each is posted again`
      const isMeant = ids.length > 0 || matched === leftOut
      const asked = { ...options, ...(isMeant && { yes: true }) }
      if (!(await confirm(what, asked, { matched, leftOut }))) return
      const done = await runBatches(context, matched, (w, run) => replayBatch(w, filter, run, options.rate))
      const left = done.matched - done.changed
      out.one({ replayed: done.changed, leftOut: left })
      if (left > 0) exit(5)
    },
  }),

  command({
    path: 'deliveries cancel',
    summary: 'Cancel deliveries that are pending',
    examples: [
      'svc deliveries cancel dlv_01m82xtnhcnhx5ghn2qtbtmtf5 --yes',
      'svc deliveries cancel --webhook whk_01m82xgxstm9pszdn2vy839dag --dry-run',
    ],
    arguments: [argument('[ids...]')],
    flags: {
      ...filterFlags,
      ...confirmed('count what would change'),
    },
    run: async (context, ids, options) => {
      const { out, work, confirm, exit } = context
      const { cancelBatch, countDeliveries } = await import('./deliveries.replay.ts')
      const filter = await chosen(context, ids, options, '--webhook, --type or --since')
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
    },
  }),

  command({
    path: 'deliveries stats',
    summary: 'Count deliveries by state, in all and for each webhook',
    examples: ['svc deliveries stats', 'svc deliveries stats --since 24h --json'],
    flags: {
      ...filterFlags,
    },
    run: async (context, options) => {
      const { out, work } = context
      const { deliveryStats } = await import('./deliveries.find.ts')
      const filter = await filterOf(context, options)
      const stats = await work((w) => deliveryStats(w, filter))
      if (out.isJson) return out.one(stats)
      await out.list('deliveries', stats.webhooks, statsColumns)
    },
  }),
]

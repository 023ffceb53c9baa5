import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, names, namesOf, needed, neededNames, text, unasked } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, type Output, properties } from '../cli/output.ts'
import { rollingBack } from '../cli/trial.ts'
import { parseDuration } from '../lib/since.ts'
import { commands as events, eventTypes } from './events.commands.ts'
import type { NewSubscription, Subscription } from './webhooks.shapes.ts'

/** Returns `paused` for a webhook that an operator disabled: only then the contract has no reason. */
const statusOf = ({ status, disabledReason }: Subscription): string =>
  status === 'disabled' && !disabledReason ? 'paused' : status

const columns: Column<Subscription>[] = [
  ...properties<Subscription>('id', 'url'),
  ['EVENTS', (webhook) => webhook.events.join(','), 'pipe'],
  ['EVENTS', (webhook) => webhook.events.join(', '), 'terminal'],
  ['STATUS', statusOf],
  ...properties<Subscription>('lastDeliveryAt', 'lastFailureAt', 'lastError'),
]

const shown = (webhook: Subscription) => ({
  ...webhook,
  status: statusOf(webhook),
  events: webhook.events.join(','),
})

const showOnce = (out: Output, created: NewSubscription & { oldSecretUntil?: number }) => {
  const { subscription, ...own } = created
  out.secret(created, 'secret', { ...own, url: subscription.url, events: subscription.events.join(',') })
}

export const commands: CommandList = [
  command({
    path: 'webhooks create',
    summary: 'Subscribe a URL to events; the signing secret is shown once',
    examples: [
      'svc webhooks create --url https://shop.example/hook --events deal.created,deal.stage_changed',
      'svc webhooks create --url https://shop.example/hook --events contact.created --json',
    ],
    flags: {
      url: needed('<url>', 'a public http or https address'),
      events: neededNames('<types>', 'event types, separated by commas (svc events types)', eventTypes),
    },
    run: async ({ app, actor, account, out }, { url, events }) => {
      const { createWebhook, NewWebhook } = await import('./webhooks.ts')
      const input = await parse(NewWebhook, { url, events: namesOf(events) })
      const { id } = await account()
      showOnce(out, await createWebhook(app, id, actor, input, { createdVia: 'dashboard' }))
    },
  }),

  command({
    path: 'webhooks list',
    isDefault: true,
    summary: 'List the subscriptions, newest first',
    examples: ['svc webhooks', 'svc webhooks list --wide'],
    run: async ({ out, work }) => {
      const { listWebhooks } = await import('./webhooks.ts')
      await out.list('webhooks', await work(listWebhooks), columns)
    },
  }),

  command({
    path: 'webhooks show',
    summary: 'Show a subscription',
    examples: [
      'svc webhooks show whk_01m82xgxstm9pszdn2vy839dag',
      'svc webhooks show whk_01m82xgxstm9pszdn2vy839dag --json',
    ],
    arguments: [argument('<id>')],
    run: async ({ out, work }, id) => {
      const { endOfOverlap, showWebhook } = await import('./webhooks.ts')
      const webhook = await work((w) => showWebhook(w, id))
      const until = await work((w) => endOfOverlap(w, id))
      const overlap = until && { oldSecretUntil: until.getTime() }
      out.one({ ...webhook, ...overlap }, { ...shown(webhook), ...overlap })
    },
  }),

  command({
    path: 'webhooks update',
    summary: 'Change the URL or the events of a subscription; its id, secret and pending deliveries stay',
    examples: [
      'svc webhooks update whk_01m82xgxstm9pszdn2vy839dag --url https://shop.example/new',
      'svc webhooks update whk_01m82xgxstm9pszdn2vy839dag --events deal.created,lead.hot --dry-run',
    ],
    arguments: [argument('<id>')],
    flags: {
      url: text('<url>', 'a public http or https address, for the next attempts too'),
      events: names('<types>', 'event types, separated by commas; replaces the current ones', eventTypes),
      ...unasked('show what would change'),
    },
    run: async ({ app, actor, account, out, work, confirm }, id, { url, events, dryRun }) => {
      const { countPending, showWebhook, updateWebhook, WebhookChange } = await import('./webhooks.ts')
      const change = await parse(WebhookChange, { url, ...(events !== undefined && { events: namesOf(events) }) })
      if (dryRun) {
        const before = await work((w) => showWebhook(w, id))
        const pending = await work((w) => countPending(w, id))
        await updateWebhook(rollingBack(app), (await account()).id, actor, id, change)
        const what = `change ${id} (${before.url}), whose pending deliveries (${pending}) stay`
        await confirm(what, { dryRun }, { id, pending, before, change })
        return
      }
      const webhook = await updateWebhook(app, (await account()).id, actor, id, change)
      out.one(webhook, shown(webhook))
    },
  }),

  command({
    path: 'webhooks delete',
    summary: 'Delete a subscription and cancel its pending deliveries',
    examples: [
      'svc webhooks delete whk_01m82xgxstm9pszdn2vy839dag --dry-run',
      'svc webhooks delete whk_01m82xgxstm9pszdn2vy839dag --yes',
    ],
    arguments: [argument('<id>')],
    flags: confirmed(),
    run: async ({ out, work, confirm }, id, options) => {
      const { countPending, deleteWebhook, showWebhook } = await import('./webhooks.ts')
      const { url } = await work((w) => showWebhook(w, id))
      const pending = await work((w) => countPending(w, id))
      const what = `delete ${id} (${url}) and cancel its pending deliveries (${pending})`
      if (!(await confirm(what, options, { id, pending }))) return
      out.one({ ok: true, id, cancelled: await work((w) => deleteWebhook(w, id)) })
    },
  }),

  command({
    path: 'webhooks enable',
    summary: 'Enable a subscription for new events',
    examples: [
      'svc webhooks enable whk_01m82xgxstm9pszdn2vy839dag',
      'svc webhooks enable whk_01m82xgxstm9pszdn2vy839dag --dry-run',
    ],
    arguments: [argument('<id>')],
    flags: changing(),
    run: async ({ out, work }, id) => {
      const { enableWebhook } = await import('./webhooks.ts')
      const webhook = await work((w) => enableWebhook(w, id))
      out.one(webhook, shown(webhook))
    },
  }),

  command({
    path: 'webhooks disable',
    summary: 'Disable a subscription and cancel its pending deliveries',
    examples: [
      'svc webhooks disable whk_01m82xgxstm9pszdn2vy839dag --dry-run',
      'svc webhooks disable whk_01m82xgxstm9pszdn2vy839dag --yes',
    ],
    arguments: [argument('<id>')],
    flags: unasked('count the deliveries that would be cancelled'),
    run: async ({ out, work, confirm }, id, { dryRun = false }) => {
      const { countPending, disableWebhook, showWebhook } = await import('./webhooks.ts')
      if (dryRun) {
        const { url } = await work((w) => showWebhook(w, id))
        const pending = await work((w) => countPending(w, id))
        const what = `disable ${id} (${url}) and cancel its pending deliveries (${pending})`
        await confirm(what, { dryRun }, { id, pending })
        return
      }
      const { subscription, cancelled } = await work((w) => disableWebhook(w, id))
      out.one(subscription, shown(subscription))
      if (cancelled === 0) return
      out.note(`Cancelled its pending deliveries (${cancelled}). To send them again:`)
      out.next('svc deliveries replay')
    },
  }),

  command({
    path: 'webhooks rotate-secret',
    summary: 'Replace the signing secret of a subscription; the new one is shown once',
    examples: [
      'svc webhooks rotate-secret whk_01m82xgxstm9pszdn2vy839dag --overlap 24h',
      'svc webhooks rotate-secret whk_01m82xgxstm9pszdn2vy839dag --dry-run',
    ],
    arguments: [argument('<id>')],
    flags: {
      overlap: text('<duration>', 'how long the old secret signs too, at most 30d (default: it signs nothing more)'),
      ...unasked('show which deliveries the new secret would sign'),
    },
    run: async ({ app, out, work, confirm }, id, { overlap, dryRun }) => {
      const { countPending, overlapEnd, rotateSecret, showWebhook } = await import('./webhooks.ts')
      if (dryRun) {
        const until = overlap === undefined ? null : overlapEnd(overlap, app.now())
        const { url } = await work((w) => showWebhook(w, id))
        const pending = await work((w) => countPending(w, id))
        const beside = until ? `; the old one signs too until ${out.time(until)}` : ''
        const what = `give ${id} (${url}) a new secret, which signs its pending deliveries (${pending}) too${beside}`
        await confirm(what, { dryRun }, { id, pending, ...(until && { oldSecretUntil: until.getTime() }) })
        return
      }
      showOnce(out, await work((w) => rotateSecret(w, app.box, id, overlap)))
    },
  }),

  command({
    path: 'webhooks test',
    summary:
      'Send a subscription a sample with test: true inside data, and wait for its answer; fails unless that is 2xx',
    examples: [
      'svc webhooks test whk_01m82xgxstm9pszdn2vy839dag',
      'svc webhooks test whk_01m82xgxstm9pszdn2vy839dag --type deal.created --timeout 10s',
    ],
    arguments: [argument('<id>')],
    flags: {
      type: text('<type>', 'the event type (default: the first of the subscription)', { of: eventTypes }),
      timeout: text('<duration>', 'how long to wait for a daemon to deliver it', { default: '30s' }),
      ...unasked('show the sample, and post nothing'),
    },
    run: async ({ account, actor, app, exit, out, signal, trial }, id, options) => {
      const { tryWebhook } = await import('./webhooks.try.ts')
      const { EventName } = await import('../events/shapes.ts')
      const type = options.type === undefined ? undefined : await parse(EventName, options.type, 'type')
      const wait = { limitMs: parseDuration(options.timeout), signal }
      if (options.dryRun) {
        const { testWebhook } = await import('./webhooks.ts')
        const { webhookId, event } = await trial((work) => testWebhook(work, id, type))
        out.one({ dryRun: true, webhookId, type: event.type, data: event.data })
        return out.note('Nothing was posted.')
      }
      const tried = await tryWebhook(app, { accountId: (await account()).id, actor, id, type }, wait)
      if (!tried) return
      const { history, event, ...delivery } = tried
      const [attempt] = history
      const ms = attempt?.durationMs ?? null
      if (out.isText) {
        out.line(`→ ${attempt?.status ?? delivery.lastError ?? delivery.status} in ${ms ?? 0} ms`)
      } else out.one({ ...delivery, ms, answer: attempt?.snippet ?? null })
      const next = `svc deliveries show ${delivery.id}`
      if (delivery.status === 'delivered') return out.next(next)
      out.failure(attempt?.error ?? delivery.lastError ?? `The delivery is ${delivery.status}`, next)
      exit(1)
    },
  }),

  ...events,
]

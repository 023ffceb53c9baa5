import {
  appendNames,
  type CommandSet,
  type Confirmation,
  changing,
  confirmed,
  examples,
  namesOf,
} from '../cli/command.ts'
import type { Column, Output } from '../cli/output.ts'
import { commands as events } from './events.commands.ts'
import type { NewSubscription, Subscription } from './webhooks.shapes.ts'

/** Returns `paused` for a webhook that an operator disabled: only then the contract has no reason. */
const statusOf = ({ status, disabledReason }: Subscription): string =>
  status === 'disabled' && !disabledReason ? 'paused' : status

const columns: Column<Subscription>[] = [
  ['ID', (webhook) => webhook.id],
  ['URL', (webhook) => webhook.url],
  ['EVENTS', (webhook) => webhook.events.join(','), 'pipe'],
  ['EVENTS', (webhook) => webhook.events.join(', '), 'terminal'],
  ['STATUS', statusOf],
  ['LAST DELIVERY', (webhook) => (webhook.lastDeliveryAt ? new Date(webhook.lastDeliveryAt) : null)],
  ['LAST FAILURE', (webhook) => (webhook.lastFailureAt ? new Date(webhook.lastFailureAt) : null)],
  ['LAST ERROR', (webhook) => webhook.lastError],
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

interface UpdateOptions {
  url?: string
  events?: string
  yes?: boolean
  dryRun?: boolean
}

interface TestOptions {
  type?: string
  timeout: string
}

const webhooks: CommandSet = (cli) => {
  const noun = cli.noun('webhooks')

  noun
    .command('create')
    .description('Subscribe a URL to events; the signing secret is shown once')
    .addHelpText(
      'after',
      examples(
        'svc webhooks create --url https://shop.example/hook --events deal.created,deal.stage_changed',
        'svc webhooks create --url https://shop.example/hook --events contact.created --json',
      ),
    )
    .option('--url <url>', 'a public http or https address')
    .option('--events <types>', 'event types, separated by commas (svc events types)', appendNames)
    .action(
      cli.run(async ({ app, actor, account, out, require }, options: { url?: string; events?: string }) => {
        const { url, events } = await require(options, 'url', 'events')
        const [{ createWebhook, NewWebhook }, { parse }] = await Promise.all([
          import('./webhooks.ts'),
          import('../lib/parse.ts'),
        ])
        const input = parse(NewWebhook, { url, events: namesOf(events) })
        const { id } = await account()
        showOnce(out, await createWebhook(app, id, actor, input, { createdVia: 'dashboard' }))
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the subscriptions, newest first')
    .addHelpText('after', examples('svc webhooks', 'svc webhooks list --wide'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listWebhooks } = await import('./webhooks.ts')
        await out.list('webhooks', await work(listWebhooks), columns)
      }),
    )

  noun
    .command('show')
    .description('Show a subscription')
    .addHelpText(
      'after',
      examples(
        'svc webhooks show whk_01m82xgxstm9pszdn2vy839dag',
        'svc webhooks show whk_01m82xgxstm9pszdn2vy839dag --json',
      ),
    )
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { endOfOverlap, showWebhook } = await import('./webhooks.ts')
        const webhook = await work((w) => showWebhook(w, id))
        const until = await work((w) => endOfOverlap(w, id))
        const overlap = until && { oldSecretUntil: until.getTime() }
        out.one({ ...webhook, ...overlap }, { ...shown(webhook), ...overlap })
      }),
    )

  noun
    .command('update')
    .description('Change the URL or the events of a subscription; its id, secret and pending deliveries stay')
    .addHelpText(
      'after',
      examples(
        'svc webhooks update whk_01m82xgxstm9pszdn2vy839dag --url https://shop.example/new',
        'svc webhooks update whk_01m82xgxstm9pszdn2vy839dag --events deal.created,lead.hot --dry-run',
      ),
    )
    .argument('<id>')
    .option('--url <url>', 'a public http or https address, for the next attempts too')
    .option('--events <types>', 'event types, separated by commas; replaces the current ones', appendNames)
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'show what would change')
    .action(
      cli.run(
        async ({ app, actor, account, out, work, confirm }, id: string, { url, events, dryRun }: UpdateOptions) => {
          const [{ countPending, showWebhook, updateWebhook, WebhookChange }, { parse }] = await Promise.all([
            import('./webhooks.ts'),
            import('../lib/parse.ts'),
          ])
          const change = parse(WebhookChange, { url, ...(events !== undefined && { events: namesOf(events) }) })
          if (dryRun) {
            const before = await work((w) => showWebhook(w, id))
            const pending = await work((w) => countPending(w, id))
            const what = `change ${id} (${before.url}), whose pending deliveries (${pending}) stay`
            await confirm(what, { dryRun }, { id, pending, before, change })
            return
          }
          const webhook = await updateWebhook(app, (await account()).id, actor, id, change)
          out.one(webhook, shown(webhook))
        },
      ),
    )

  confirmed(
    noun
      .command('delete')
      .description('Delete a subscription and cancel its pending deliveries')
      .addHelpText(
        'after',
        examples(
          'svc webhooks delete whk_01m82xgxstm9pszdn2vy839dag --dry-run',
          'svc webhooks delete whk_01m82xgxstm9pszdn2vy839dag --yes',
        ),
      )
      .argument('<id>'),
  ).action(
    cli.run(async ({ out, work, confirm }, id: string, options: Confirmation) => {
      const { countPending, deleteWebhook, showWebhook } = await import('./webhooks.ts')
      const { url } = await work((w) => showWebhook(w, id))
      const pending = await work((w) => countPending(w, id))
      const what = `delete ${id} (${url}) and cancel its pending deliveries (${pending})`
      if (!(await confirm(what, options, { id, pending }))) return
      out.one({ ok: true, id, cancelled: await work((w) => deleteWebhook(w, id)) })
    }),
  )

  changing(
    noun
      .command('enable')
      .description('Enable a subscription for new events')
      .addHelpText(
        'after',
        examples(
          'svc webhooks enable whk_01m82xgxstm9pszdn2vy839dag',
          'svc webhooks enable whk_01m82xgxstm9pszdn2vy839dag --dry-run',
        ),
      )
      .argument('<id>'),
  ).action(
    cli.run(async ({ out, work }, id: string) => {
      const { enableWebhook } = await import('./webhooks.ts')
      const webhook = await work((w) => enableWebhook(w, id))
      out.one(webhook, shown(webhook))
    }),
  )

  noun
    .command('disable')
    .description('Disable a subscription and cancel its pending deliveries')
    .addHelpText(
      'after',
      examples(
        'svc webhooks disable whk_01m82xgxstm9pszdn2vy839dag --dry-run',
        'svc webhooks disable whk_01m82xgxstm9pszdn2vy839dag --yes',
      ),
    )
    .argument('<id>')
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'count the deliveries that would be cancelled')
    .action(
      cli.run(async ({ out, work, confirm }, id: string, { dryRun = false }: { dryRun?: boolean }) => {
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
      }),
    )

  noun
    .command('rotate-secret')
    .description('Replace the signing secret of a subscription; the new one is shown once')
    .addHelpText(
      'after',
      examples(
        'svc webhooks rotate-secret whk_01m82xgxstm9pszdn2vy839dag --overlap 24h',
        'svc webhooks rotate-secret whk_01m82xgxstm9pszdn2vy839dag --dry-run',
      ),
    )
    .argument('<id>')
    .option('--overlap <duration>', 'how long the old secret signs too, at most 30d (default: it signs nothing more)')
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'show which deliveries the new secret would sign')
    .action(
      cli.run(
        async (
          { app, out, work, confirm },
          id: string,
          { overlap, dryRun }: { overlap?: string; yes?: boolean; dryRun?: boolean },
        ) => {
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
      ),
    )

  noun
    .command('test')
    .description(
      'Send a subscription a sample with test: true inside data, and wait for its answer; fails unless that is 2xx',
    )
    .addHelpText(
      'after',
      examples(
        'svc webhooks test whk_01m82xgxstm9pszdn2vy839dag',
        'svc webhooks test whk_01m82xgxstm9pszdn2vy839dag --type deal.created --timeout 10s',
      ),
    )
    .argument('<id>')
    .option('--type <type>', 'the event type (default: the first of the subscription)')
    .option('--timeout <duration>', 'how long to wait for a daemon to deliver it', '30s')
    .action(
      cli.run(async ({ account, actor, app, exit, out, signal }, id: string, options: TestOptions) => {
        const [{ tryWebhook }, { EventName }, { parse }, { parseDuration }] = await Promise.all([
          import('./webhooks.try.ts'),
          import('../events/shapes.ts'),
          import('../lib/parse.ts'),
          import('../lib/since.ts'),
        ])
        const type = options.type === undefined ? undefined : parse(EventName, options.type, 'type')
        const wait = { limitMs: parseDuration(options.timeout), signal }
        const tried = await tryWebhook(app, { accountId: (await account()).id, actor, id, type }, wait)
        if (!tried) return
        const { history, event, ...delivery } = tried
        const [attempt] = history
        const ms = attempt?.durationMs ?? null
        if (out.format === 'table' || out.format === 'plain') {
          out.line(`→ ${attempt?.status ?? delivery.lastError ?? delivery.status} in ${ms ?? 0} ms`)
          if (attempt?.error) out.note(`error: ${attempt.error}`)
        } else out.one({ ...delivery, ms, answer: attempt?.snippet ?? null })
        out.next(`svc deliveries show ${delivery.id}`)
        exit(delivery.status === 'delivered' ? 0 : 1)
      }),
    )
}

export const commands: CommandSet = (cli) => {
  webhooks(cli)
  events(cli)
}

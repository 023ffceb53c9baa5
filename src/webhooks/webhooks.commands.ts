import type { CommandSet } from '../cli/command.ts'
import type { Column, Output } from '../cli/output.ts'
import { commands as events } from './events.commands.ts'
import type { NewSubscription, Subscription } from './webhooks.shapes.ts'

const columns: Column<Subscription>[] = [
  ['ID', (webhook) => webhook.id],
  ['URL', (webhook) => webhook.url],
  ['EVENTS', (webhook) => webhook.events.join(',')],
  ['STATUS', (webhook) => webhook.status],
  ['LAST DELIVERY', (webhook) => (webhook.lastDeliveryAt ? new Date(webhook.lastDeliveryAt) : null)],
  ['LAST FAILURE', (webhook) => (webhook.lastFailureAt ? new Date(webhook.lastFailureAt) : null)],
  ['LAST ERROR', (webhook) => webhook.lastError],
]

const shown = (webhook: Subscription) => ({ ...webhook, events: webhook.events.join(',') })

const showOnce = (out: Output, created: NewSubscription) => {
  const { id, secret, subscription } = created
  out.secret(created, 'secret', { id, secret, url: subscription.url, events: subscription.events.join(',') })
}

/** A flag that is given twice adds to what it said before. */
const alsoThese = (text: string, before?: string): string => (before ? `${before},${text}` : text)

const webhooks: CommandSet = (cli) => {
  const noun = cli.noun('webhooks')

  noun
    .command('create')
    .description('Subscribe a URL to events; the signing secret is shown once')
    .option('--url <url>', 'a public http or https address')
    .option('--events <types>', 'event types, separated by commas (svc events types)', alsoThese)
    .action(
      cli.run(async ({ app, actor, account, out, require }, options: { url?: string; events?: string }) => {
        const { url, events } = await require({ url: options.url, events: options.events })
        const [{ createWebhook, NewWebhook }, { parse }] = await Promise.all([
          import('./webhooks.ts'),
          import('../lib/parse.ts'),
        ])
        const names = events.split(',').map((name) => name.trim())
        const input = parse(NewWebhook, { url, events: names.filter(Boolean) })
        const { id } = await account()
        showOnce(out, await createWebhook(app, id, actor, input, { createdVia: 'dashboard' }))
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the subscriptions, newest first')
    .action(
      cli.run(async ({ out, work }) => {
        const { listWebhooks } = await import('./webhooks.ts')
        await out.list('webhooks', await work(listWebhooks), columns)
      }),
    )

  noun
    .command('show')
    .description('Show a subscription')
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showWebhook } = await import('./webhooks.ts')
        const webhook = await work((w) => showWebhook(w, id))
        out.one(webhook, shown(webhook))
      }),
    )

  noun
    .command('delete')
    .description('Delete a subscription and cancel what is on its way to it')
    .argument('<id>')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, id: string, options: { yes?: boolean; dryRun?: boolean }) => {
        const { countPending, deleteWebhook, showWebhook } = await import('./webhooks.ts')
        const { url } = await work((w) => showWebhook(w, id))
        const pending = await work((w) => countPending(w, id))
        const what = `delete ${id} (${url}) and cancel its pending deliveries (${pending})`
        if (!(await confirm(what, options, { id, pending }))) return
        out.one({ ok: true, id, cancelled: await work((w) => deleteWebhook(w, id)) })
      }),
    )

  noun
    .command('enable')
    .description('Send events to it again')
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { enableWebhook } = await import('./webhooks.ts')
        const webhook = await work((w) => enableWebhook(w, id))
        out.one(webhook, shown(webhook))
      }),
    )

  noun
    .command('disable')
    .description('Send nothing to it until it is enabled; what is on its way is cancelled')
    .argument('<id>')
    .option('--dry-run', 'count what would be cancelled')
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
        if (cancelled > 0)
          out.note(`Cancelled its pending deliveries (${cancelled}): svc deliveries replay brings them back.`)
      }),
    )

  noun
    .command('rotate-secret')
    .description('Give it a new signing secret, shown once; the old one signs nothing any more')
    .argument('<id>')
    .action(
      cli.run(async ({ app, out, work }, id: string) => {
        const { rotateSecret } = await import('./webhooks.ts')
        showOnce(out, await work((w) => rotateSecret(w, app.box, id)))
      }),
    )

  noun
    .command('test')
    .description('Send it a sample event with test: true inside data')
    .argument('<id>')
    .option('--type <type>', 'the event type; left out: the first that it subscribed to')
    .action(
      cli.run(async ({ out, work }, id: string, options: { type?: string }) => {
        const [{ testWebhook }, { EventName }, { parse }] = await Promise.all([
          import('./webhooks.ts'),
          import('../events/shapes.ts'),
          import('../lib/parse.ts'),
        ])
        const type = options.type === undefined ? undefined : parse(EventName, options.type, 'type')
        const { history, event, ...delivery } = await work((w) => testWebhook(w, id, type))
        out.one(delivery)
        out.note(`Follow it: svc deliveries show ${delivery.id}`)
      }),
    )
}

export const commands: CommandSet = (cli) => {
  webhooks(cli)
  events(cli)
}

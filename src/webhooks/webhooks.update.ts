import { publicUrl, redirectTarget } from '../deliveries/deliveries.ts'
import type { App } from '../store/work.ts'
import { inContractOrder } from './webhooks.create.ts'
import { entitiesOf, lockWebhook, showWebhook } from './webhooks.find.ts'
import type { Subscription, WebhookChange } from './webhooks.shapes.ts'

/**
 * Changes the URL or the events of a subscription. Its id, secret and pending deliveries stay; their next attempts go to the new
 * URL. Throws Problem `not_found`, or `invalid` for a URL that is not public. Opens its own transaction, after it has resolved the
 * URL's host name.
 */
export const updateWebhook = async (
  app: App,
  accountId: string,
  actor: string,
  id: string,
  change: WebhookChange,
): Promise<Subscription> => {
  const url = change.url === undefined ? null : await publicUrl(app, change.url)
  return app.work(accountId, actor, async (work) => {
    const before = await lockWebhook(work, id)
    if (change.events) {
      const [em, { Webhook }] = await entitiesOf(work)
      await em.nativeUpdate(Webhook, { id }, { events: inContractOrder(change.events) })
    }
    if (url !== null && url !== before.url) await redirectTarget(work, id, url)
    return showWebhook(work, id)
  })
}

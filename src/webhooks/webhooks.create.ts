import type { z } from 'zod'
import { publicUrl } from '../deliveries/deliveries.ts'
import { eventTypes } from '../events/types.ts'
import { newId } from '../lib/ids.ts'
import { conflict, missing, Problem } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { App, Work } from '../store/work.ts'
import { showWebhook } from './webhooks.find.ts'
import type { NewSubscription, NewWebhook, Subscription } from './webhooks.shapes.ts'

export const webhookLimit = 50

/** Where a webhook comes from. A trusted URL (that of `svc listen`) may be private. */
export interface Origin {
  createdVia: Subscription['createdVia']
  apiKeyId?: string
  temporary?: boolean
  trusted?: boolean
}

/** The account's row is the lock under which its webhooks are counted: 60 callers at once make 50. */
const demandRoom = async ({ sql, accountId }: Work): Promise<void> => {
  const [account] = await sql('select from accounts where id = $1 for no key update', [accountId])
  if (!account) throw missing('There is no such account')
  const [row] = await sql<{ count: number }>('select count(*) from webhooks where account_id = $1', [accountId])
  if (row!.count >= webhookLimit) throw conflict(`An account can have at most ${webhookLimit} webhook subscriptions`)
}

/** A key that is revoked meanwhile waits for this transaction and disables what it made, or is seen as revoked here. */
const demandLivingKey = async ({ sql, accountId }: Work, keyId: string): Promise<void> => {
  const [key] = await sql('select from api_keys where account_id = $1 and id = $2 and revoked_at is null for share', [
    accountId,
    keyId,
  ])
  if (!key) throw new Problem('unauthorized', 'Missing or invalid Authorization: Bearer <apiKey>')
}

const insertWebhook = async (work: Work, box: SecretBox, url: string, events: string[], origin: Origin) => {
  await demandRoom(work)
  if (origin.apiKeyId) await demandLivingKey(work, origin.apiKeyId)
  const secret = newSigningSecret()
  const id = newId('whk', work.now.getTime())
  const { sql, accountId, now } = work
  const { createdVia, apiKeyId = null, temporary = false } = origin
  await sql(
    `with target as (
       insert into delivery_targets (id, account_id, kind, url, sealed_secret, status, created_at)
       values ($1, $2, 'subscription', $3, $4, 'active', $5)
     )
     insert into webhooks (id, account_id, api_key_id, events, created_via, temporary, created_at)
     values ($1, $2, $6, $7, $8, $9, $5)`,
    [id, accountId, url, box.seal(secret, id), now, apiKeyId, events, createdVia, temporary],
  )
  return { id, secret, subscription: await showWebhook(work, id) }
}

/**
 * Subscribes a URL to events (POST /webhooks). The secret is in this answer only. Throws `invalid` for a URL that is not
 * public, `conflict` where the account has 50 already. Opens its own transaction: the URL's name is looked up before it.
 */
export const createWebhook = async (
  app: App,
  accountId: string,
  actor: string,
  input: z.output<typeof NewWebhook>,
  origin: Origin,
): Promise<NewSubscription> => {
  const wanted = new Set([...(input.events ?? []), ...(input.event ? [input.event] : [])])
  const events = eventTypes.filter((type) => wanted.has(type))
  const url = origin.trusted ? input.url : await publicUrl(app, input.url)
  return app.work(accountId, actor, (work) => insertWebhook(work, app.box, url, events, origin))
}

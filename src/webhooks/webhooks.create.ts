import type { z } from 'zod'
import { lockAccount } from '../accounts/accounts.ts'
import { publicUrl } from '../deliveries/deliveries.ts'
import { type EventType, eventTypes } from '../events/types.ts'
import { newId } from '../lib/ids.ts'
import { conflict, Problem } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { App, Work } from '../store/work.ts'
import { showWebhook } from './webhooks.find.ts'
import type { NewSubscription, NewWebhook, Subscription } from './webhooks.shapes.ts'

const webhookLimit = 50

/** The origin of a webhook. A trusted URL (of `svc listen`) may be private. */
interface Origin {
  createdVia: Subscription['createdVia']
  apiKeyId?: string
  temporary?: boolean
  trusted?: boolean
}

/** Returns the types without duplicates, in the order of the contract. */
export const inContractOrder = (types: readonly EventType[]): EventType[] =>
  eventTypes.filter((type) => types.includes(type))

/** Locks the account's row while it counts webhooks, so that concurrent calls can't exceed the limit. */
const requireBelowLimit = async (work: Work): Promise<void> => {
  const { sql, accountId } = work
  await lockAccount(work)
  const [row] = await sql<{ count: number }>('select count(*) from webhooks where account_id = $1', [accountId])
  if (row!.count >= webhookLimit) throw conflict(`An account can have at most ${webhookLimit} webhook subscriptions`)
}

/** Locks the key: a concurrent revocation waits for this transaction and disables its webhook, or is visible here. */
const requireActiveKey = async ({ sql, accountId }: Work, keyId: string): Promise<void> => {
  const [key] = await sql('select from api_keys where account_id = $1 and id = $2 and revoked_at is null for share', [
    accountId,
    keyId,
  ])
  if (!key) throw new Problem('unauthorized', 'Missing or invalid Authorization: Bearer <apiKey>')
}

const insertWebhook = async (work: Work, box: SecretBox, url: string, events: string[], origin: Origin) => {
  await requireBelowLimit(work)
  if (origin.apiKeyId) await requireActiveKey(work, origin.apiKeyId)
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
 * Subscribes a URL to events (POST /webhooks). Only this result has the secret. Throws Problem `invalid` for a URL that is not
 * public, `conflict` if the account has 50 webhooks. Opens its own transaction, after it has resolved the URL's host name.
 */
export const createWebhook = async (
  app: App,
  accountId: string,
  actor: string,
  input: z.output<typeof NewWebhook>,
  origin: Origin,
): Promise<NewSubscription> => {
  const events = inContractOrder([...(input.events ?? []), ...(input.event ? [input.event] : [])])
  const url = origin.trusted ? input.url : await publicUrl(app, input.url)
  return app.work(accountId, actor, (work) => insertWebhook(work, app.box, url, events, origin))
}

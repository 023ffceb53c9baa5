import type { z } from 'zod'
import { lockAccount, lockActiveKey } from '../accounts/accounts.ts'
import { createTarget, publicUrl } from '../deliveries/deliveries.ts'
import { type EventType, eventTypes } from '../events/events.ts'
import { newId } from '../lib/ids.ts'
import { conflict, Problem } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { webhooks } from './webhooks.columns.ts'
import { newTargetState, subscriptionOf } from './webhooks.find.ts'
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

const countWebhooks = statement(
  'count-webhooks',
  { row: { count: 'int8' }, parameters: { accountId: 'text' } },
  'select count(*) from webhooks where account_id = :accountId',
)

/** Locks the account's row while it counts webhooks, so that concurrent calls can't exceed the limit. */
const requireBelowLimit = async (work: Work): Promise<void> => {
  await lockAccount(work)
  const [row] = await work.sql(countWebhooks, { accountId: work.accountId })
  if (row!.count >= webhookLimit) throw conflict(`An account can have at most ${webhookLimit} webhook subscriptions`)
}

/** A concurrent revocation of the key waits for this transaction and disables its webhook, or is visible here. */
const requireActiveKey = async (work: Work, keyId: string): Promise<void> => {
  if (!(await lockActiveKey(work, keyId)))
    throw new Problem('unauthorized', 'Missing or invalid Authorization: Bearer <apiKey>')
}

const newColumns = columns(webhooks, ['id', 'accountId', 'apiKeyId', 'events', 'createdVia', 'temporary', 'createdAt'])

const insertRow = statement(
  'insert-webhook',
  { parameters: newColumns.types },
  `insert into webhooks (${newColumns.names}) values (${newColumns.values})`,
)

const insertWebhook = async (work: Work, box: SecretBox, url: string, events: EventType[], origin: Origin) => {
  await requireBelowLimit(work)
  if (origin.apiKeyId) await requireActiveKey(work, origin.apiKeyId)
  const { accountId, now } = work
  const { createdVia, apiKeyId = null, temporary = false } = origin
  const secret = newSigningSecret()
  const id = newId('whk', now.getTime())
  await createTarget(work, { id, kind: 'subscription', url, sealedSecret: box.seal(secret, id) })
  const webhook = { id, apiKeyId, events, createdVia, createdAt: now }
  await work.sql(insertRow, { ...webhook, accountId, temporary })
  return { id, secret, subscription: subscriptionOf({ ...webhook, url, ...newTargetState }) }
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

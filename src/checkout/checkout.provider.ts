import { invalid, notFound, Problem } from '../lib/problem.ts'
import { isDevelopment } from '../store/clock.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { paymentProviders } from './checkout.columns.ts'

/*
 * The payment provider of an account (docs/reference/studio.md#checkout): Stripe if the account has set it up, else, in a
 * development database, a test page of this host.
 */

export type ProviderKind = 'stripe' | 'test'

/** The current provider with its keys. `formerKey` is the key before the last change, whose sessions may still be paid. */
export type Provider = { kind: 'stripe'; key: string; formerKey: string | null } | { kind: 'test' }

/** A provider as `svc payments provider` shows it. */
interface ProviderView {
  provider: ProviderKind
  /** The last 4 characters of Stripe's secret key. */
  keyLast4: string | null
  /** The URL to enter at Stripe for its events. */
  webhookUrl: string | null
}

type Unit = AccountSql

const readProvider = preparedStatement(
  'payment-provider',
  { row: { sealedKey: 'text', formerSealedKey: 'text?' }, parameters: { accountId: 'text' } },
  `select sealed_key as "sealedKey", former_sealed_key as "formerSealedKey" from payment_providers where account_id = :accountId`,
)

/** Returns the account's provider, or null if payments are not set up. */
export const findProvider = async ({ box }: Pick<App, 'box'>, { sql, accountId }: Unit): Promise<Provider | null> => {
  const [stored] = await sql(readProvider, { accountId })
  const open = (sealed: string) => box.open(sealed, accountId)
  if (stored)
    return {
      kind: 'stripe',
      key: open(stored.sealedKey),
      formerKey: stored.formerSealedKey === null ? null : open(stored.formerSealedKey),
    }
  return (await isDevelopment(sql)) ? { kind: 'test' } : null
}

const readWebhookSecrets = preparedStatement(
  'payment-webhook-secrets',
  { row: { sealed: '_text' }, parameters: { accountId: 'text' } },
  `select array_remove(array[sealed_webhook_secret, former_sealed_webhook_secret], null) as sealed
   from payment_providers where account_id = :accountId`,
)

/**
 * Returns the secrets that sign Stripe's events: the current one, and the former one for sessions that were opened under it. Empty
 * if the account has no provider. Runs outside of any transaction.
 */
export const findWebhookSecrets = async (
  { box, sql }: Pick<App, 'box' | 'sql'>,
  accountId: string,
): Promise<string[]> => {
  const [stored] = await sql(readWebhookSecrets, { accountId })
  return stored?.sealed.map((sealed) => box.open(sealed, accountId)) ?? []
}

const webhookUrlOf = ({ config }: Pick<App, 'config'>, accountId: string): string =>
  `${config.publicUrl}/p/stripe/${accountId}`

const testView: ProviderView = { provider: 'test', keyLast4: null, webhookUrl: null }

const readKeyEnd = statement(
  'read-end-of-payment-key',
  { row: { keyLast4: 'text' }, parameters: { accountId: 'text' } },
  'select key_last4 as "keyLast4" from payment_providers where account_id = :accountId',
)

/** Returns the account's provider for display. Throws Problem `not_found` if payments are not set up. */
export const showProvider = async (app: Pick<App, 'config'>, { sql, accountId }: Unit): Promise<ProviderView> => {
  const [stored] = await sql(readKeyEnd, { accountId })
  if (stored) return { provider: 'stripe', keyLast4: stored.keyLast4, webhookUrl: webhookUrlOf(app, accountId) }
  if (await isDevelopment(sql)) return testView
  throw notFound('Payments are not set up', { hint: 'svc payments provider set --provider stripe' })
}

interface StripeInput {
  key: string
  webhookSecret: string
}

/** The last 4 characters of a secret are shown. They would be more than half of a shorter one. */
const minSecretLength = 8
const isSecret = (text: string): boolean => text.length >= minSecretLength && /^[\x21-\x7e]+$/.test(text)

/** Throws Problem `invalid` for a malformed secret. Swapped ones are the most common mistake, so each is checked for the other's prefix. */
const checkStripe = ({ key, webhookSecret }: StripeInput): void => {
  if (/^pk_/.test(key)) throw invalid('key must be the secret key (sk_… or rk_…), not the publishable one')
  if (!isSecret(key) || /^whsec_/.test(key)) throw invalid('key must be a secret key of Stripe (sk_… or rk_…)')
  if (!isSecret(webhookSecret) || /^[sprk]k_/.test(webhookSecret))
    throw invalid('webhook-secret must be the signing secret of a Stripe webhook (whsec_…)')
}

const lockSecrets = statement(
  'lock-payment-provider',
  { row: { key: 'text', secret: 'text' }, parameters: { accountId: 'text' } },
  'select sealed_key as key, sealed_webhook_secret as secret from payment_providers where account_id = :accountId for update',
)

const set = columns(paymentProviders, ['provider', 'sealedKey', 'sealedWebhookSecret', 'keyLast4', 'updatedAt'])

const writeSecrets = statement(
  'set-payment-provider',
  { parameters: { accountId: 'text', ...set.types, isKeyNew: 'bool', isSecretNew: 'bool' } },
  `insert into payment_providers as p (account_id, ${set.names}) values (:accountId, ${set.values})
   on conflict (account_id) do update set ${set.set},
     former_sealed_key = case when :isKeyNew then p.sealed_key else p.former_sealed_key end,
     former_sealed_webhook_secret =
       case when :isSecretNew then p.sealed_webhook_secret else p.former_sealed_webhook_secret end`,
)

/**
 * Makes Stripe the account's provider. Both secrets are stored sealed; a change keeps the former value until that secret changes again.
 * Throws Problem `invalid`.
 */
export const setStripe = async (
  app: Pick<App, 'box' | 'config'>,
  { sql, accountId, now }: Work,
  input: StripeInput,
): Promise<ProviderView> => {
  checkStripe(input)
  const { key, webhookSecret } = input
  const keyLast4 = key.slice(-4)
  const seal = (plain: string) => app.box.seal(plain, accountId)
  const open = (sealed: string) => app.box.open(sealed, accountId)
  const [stored] = await sql(lockSecrets, { accountId })
  const isNew = (sealed: string | undefined, plain: string) => sealed !== undefined && open(sealed) !== plain
  await sql(writeSecrets, {
    accountId,
    provider: 'stripe',
    sealedKey: seal(key),
    sealedWebhookSecret: seal(webhookSecret),
    keyLast4,
    updatedAt: now,
    isKeyNew: isNew(stored?.key, key),
    isSecretNew: isNew(stored?.secret, webhookSecret),
  })
  return { provider: 'stripe', keyLast4, webhookUrl: webhookUrlOf(app, accountId) }
}

const countOpen = statement(
  'count-open-payments',
  { row: { count: 'int8' }, parameters: { accountId: 'text' } },
  `select count(*) as count from payment_orders where account_id = :accountId and status = 'open' and provider <> 'test'`,
)

/** Returns the number of open payments at the account's own provider. */
export const countOpenPayments = async ({ sql, accountId }: Unit): Promise<number> =>
  (await sql(countOpen, { accountId }))[0]!.count

/** Removes the account's own provider. Returns whether it had one. */
export const unsetProvider = async (work: Work): Promise<boolean> => {
  const [em, { StoredPaymentProvider }] = await work.em(import('./checkout.entities.ts'))
  return (await em.nativeDelete(StoredPaymentProvider, {})) > 0
}

/** Switches the account to the test page. Throws Problem `forbidden` if this is not a development database. */
export const setTest = async (work: Work): Promise<ProviderView> => {
  if (!(await isDevelopment(work.sql)))
    throw new Problem('forbidden', 'The provider test is only available in a development database', {
      hint: 'svc dev',
    })
  await unsetProvider(work)
  return testView
}

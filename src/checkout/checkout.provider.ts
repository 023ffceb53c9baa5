import { invalid, missing, Problem } from '../lib/problem.ts'
import { isDevelopment } from '../store/clock.ts'
import type { App, Work } from '../store/work.ts'

/*
 * Where an account has its recipients pay (decisions.md, Checkout): at Stripe, where it has set that up; else, in a database for
 * development, on a page of this host.
 */

export type ProviderKind = 'stripe' | 'test'

/** The provider in force, with what opens it. */
export type Provider = { kind: 'stripe'; key: string } | { kind: 'test' }

/** A provider as it is shown. */
export interface ProviderView {
  provider: ProviderKind
  /** The end of Stripe's secret key. */
  keyLast4: string | null
  /** Where Stripe must be told to post its events. */
  webhookUrl: string | null
}

type Unit = Pick<Work, 'sql' | 'accountId'>

/** null: payments are not set up. */
export const findProvider = async ({ box }: Pick<App, 'box'>, { sql, accountId }: Unit): Promise<Provider | null> => {
  const [stored] = await sql<{ sealedKey: string }>(
    'select sealed_key as "sealedKey" from payment_providers where account_id = $1',
    [accountId],
    'payment-provider',
  )
  if (stored) return { kind: 'stripe', key: box.open(stored.sealedKey, accountId) }
  return (await isDevelopment(sql)) ? { kind: 'test' } : null
}

/** What Stripe signs the account's events with; null: the account takes none. Outside any transaction. */
export const findWebhookSecret = async (
  { box, sql }: Pick<App, 'box' | 'sql'>,
  accountId: string,
): Promise<string | null> => {
  const [stored] = await sql<{ sealed: string }>(
    'select sealed_webhook_secret as sealed from payment_providers where account_id = $1',
    [accountId],
    'payment-webhook-secret',
  )
  return stored ? box.open(stored.sealed, accountId) : null
}

const webhookUrlOf = ({ config }: Pick<App, 'config'>, accountId: string): string =>
  `${config.publicUrl}/p/stripe/${accountId}`

const testView: ProviderView = { provider: 'test', keyLast4: null, webhookUrl: null }

/** Throws Problem `missing` where payments are not set up. */
export const showProvider = async (app: Pick<App, 'config'>, { sql, accountId }: Work): Promise<ProviderView> => {
  const [stored] = await sql<{ keyLast4: string }>(
    'select key_last4 as "keyLast4" from payment_providers where account_id = $1',
    [accountId],
  )
  if (stored) return { provider: 'stripe', ...stored, webhookUrl: webhookUrlOf(app, accountId) }
  if (await isDevelopment(sql)) return testView
  throw missing('Payments are not set up', { hint: 'svc payments provider set --provider stripe' })
}

export interface StripeInput {
  key: string
  webhookSecret: string
}

/** Of a shorter one the last 4 would be half of it. */
const minSecretLength = 8
const isSecret = (text: string): boolean => text.length >= minSecretLength && /^[\x21-\x7e]+$/.test(text)

/** Throws Problem `invalid`: a secret in the other's place is the commonest slip. */
const checkStripe = ({ key, webhookSecret }: StripeInput): void => {
  if (/^pk_/.test(key)) throw invalid('key must be the secret key (sk_… or rk_…), not the publishable one')
  if (!isSecret(key) || /^whsec_/.test(key)) throw invalid('key must be a secret key of Stripe (sk_… or rk_…)')
  if (!isSecret(webhookSecret) || /^[sprk]k_/.test(webhookSecret))
    throw invalid('webhook-secret must be the signing secret of a Stripe webhook (whsec_…)')
}

/** Has the account's recipients pay at Stripe. Both secrets are kept sealed. Throws Problem `invalid`. */
export const setStripe = async (
  app: Pick<App, 'box' | 'config'>,
  { sql, accountId, now }: Work,
  input: StripeInput,
): Promise<ProviderView> => {
  checkStripe(input)
  const { key, webhookSecret } = input
  const keyLast4 = key.slice(-4)
  const seal = (plain: string) => app.box.seal(plain, accountId)
  await sql(
    `insert into payment_providers (account_id, provider, sealed_key, sealed_webhook_secret, key_last4, updated_at)
     values ($1, 'stripe', $2, $3, $4, $5)
     on conflict (account_id) do update set provider = excluded.provider, sealed_key = excluded.sealed_key,
       sealed_webhook_secret = excluded.sealed_webhook_secret, key_last4 = excluded.key_last4, updated_at = excluded.updated_at`,
    [accountId, seal(key), seal(webhookSecret), keyLast4, now],
  )
  return { provider: 'stripe', keyLast4, webhookUrl: webhookUrlOf(app, accountId) }
}

/** Takes the account's own provider away, and gives whether it had one. */
export const unsetProvider = async ({ sql, accountId }: Work): Promise<boolean> =>
  (await sql('delete from payment_providers where account_id = $1 returning 1', [accountId])).length > 0

/** Has recipients pay on the page for tests again. Throws Problem `forbidden` where the database is none for development. */
export const setTest = async (work: Work): Promise<ProviderView> => {
  if (!(await isDevelopment(work.sql)))
    throw new Problem('forbidden', 'Only accounts of a development database have the provider test', {
      hint: 'svc dev makes one',
    })
  await unsetProvider(work)
  return testView
}

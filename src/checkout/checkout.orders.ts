import { readContacts } from '../contacts/contacts.ts'
import { type BlockOf, loadSent, recordInteraction, type SentMail } from '../engagement/engagement.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { toNumber } from '../lib/money.ts'
import type { CheckoutEvent, CheckoutSession } from '../net/stripe.ts'
import type { RowOf } from '../store/column-types.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { type CheckoutItem, loadVersion } from '../studio/studio.ts'
import { paymentOrders } from './checkout.columns.ts'
import type { ProviderKind } from './checkout.provider.ts'

/*
 * Orders (docs/reference/studio.md#checkout). A unique index allows one open order for each email and block. An open order becomes
 * `paid` or `expired`; an expired one becomes `paid` if the payment still arrives. Events fire once, in the transaction that marks
 * the order paid.
 */

const fixed = ['accountId', 'id', 'messageId', 'blockId', 'email', 'currency', 'items', 'provider'] as const
const order = columns(paymentOrders, [...fixed, 'status', 'sessionId', 'sessionUrl', 'sessionEndsAt', 'sessionKey'])
type Row = RowOf<typeof order.types>

/** The session at the provider. `key` is the hash of the key that opened it, or null if that is not recorded. */
interface Session {
  id: string
  url: string | null
  endsAt: Date | null
  key: string | null
}

/** The `items` are as in the project: `amount` is the price of one. */
export type Order = Omit<Row, `session${string}`> & { session: Session | null }

/** Returns the items with their keys in a fixed order, which jsonb does not keep. */
export const shownItems = (items: readonly CheckoutItem[]): CheckoutItem[] =>
  items.map(({ name, quantity, amount }) => ({ name, quantity, amount }))

const orderOf = ({ sessionId, sessionUrl, sessionEndsAt, sessionKey, ...row }: Row): Order => ({
  ...row,
  session: sessionId === null ? null : { id: sessionId, url: sessionUrl, endsAt: sessionEndsAt, key: sessionKey },
})

const readOrder = statement(
  'read-payment-order',
  { row: order.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${order.list} from payment_orders where account_id = :accountId and id = :id`,
)

/** Returns an order by its id, or null if the account has no such order. Runs outside of any transaction. */
export const loadOrder = async ({ sql }: Pick<Work, 'sql'>, accountId: string, id: string): Promise<Order | null> => {
  const [row] = await sql(readOrder, { accountId, id })
  return row ? orderOf(row) : null
}

// Statuses are compared in `lockOrder`: after waiting for a lock the rows are current, but sorted by their former values.
const lockPaymentOrder = preparedStatement(
  'lock-payment-order',
  { row: order.types, parameters: { accountId: 'text', messageId: 'text', blockId: 'text' } },
  `select ${order.list} from payment_orders
   where account_id = :accountId and message_id = :messageId and block_id = :blockId and status <> 'expired' order by id for update`,
)

/** Locks and returns the recipient's order for a block: the paid one, else the open one. */
export const lockOrder = async (
  { sql, accountId }: Work,
  messageId: string,
  blockId: string,
): Promise<Order | null> => {
  const rows = await sql(lockPaymentOrder, { accountId, messageId, blockId })
  const row = rows.find(({ status }) => status === 'paid') ?? rows[0]
  return row ? orderOf(row) : null
}

/** Returns the total, computed in cents to avoid rounding errors: amounts have at most two decimals. */
const amountOf = (items: readonly CheckoutItem[]): number =>
  items.reduce((cents, { amount, quantity }) => cents + Math.round(amount * 100) * quantity, 0) / 100

const newOrder = columns(paymentOrders, [...fixed, 'projectId', 'projectVersion', 'amount', 'createdAt'])

const addOrder = preparedStatement(
  'add-payment-order',
  {
    row: order.types,
    parameters: { ...newOrder.types, items: typed<string>('jsonb'), amount: typed<number>('numeric') },
  },
  `insert into payment_orders (${newOrder.names}, status) values (${newOrder.values}, 'open')
   on conflict (account_id, message_id, block_id) where status = 'open' do nothing returning ${order.list}`,
)

/** Inserts an open order for the items of the block as it was sent. Returns null if a concurrent request inserted one first. */
export const insertOrder = async (
  { sql, accountId, now }: Work,
  sent: SentMail,
  { id: blockId, props }: BlockOf<'checkout'>,
  provider: ProviderKind,
): Promise<Order | null> => {
  const { items, currency } = props
  const { projectId, projectVersion, email } = sent
  const [row] = await sql(addOrder, {
    accountId,
    id: newId('pay', now.getTime()),
    messageId: sent.id,
    blockId,
    projectId,
    projectVersion,
    email,
    currency,
    amount: amountOf(items),
    items: JSON.stringify(items),
    provider,
    createdAt: now,
  })
  return row ? orderOf(row) : null
}

const defaultSessionMs = 24 * 60 * 60_000

const writeSession = preparedStatement(
  'record-payment-session',
  {
    row: { url: 'text' },
    parameters: { accountId: 'text', id: 'text', sessionId: 'text', url: 'text', endsAt: 'timestamptz', key: 'text?' },
  },
  `update payment_orders set session_id = coalesce(session_id, :sessionId), session_url = coalesce(session_url, :url),
     session_ends_at = coalesce(session_ends_at, :endsAt),
     session_key = case when session_id is null then :key else session_key end
   where account_id = :accountId and id = :id returning session_url as url`,
)

/** Records the session of an order, unless one is already recorded, and returns the URL of the recorded one. */
export const recordSession = async (
  { sql, accountId, now }: Work,
  id: string,
  session: CheckoutSession,
  key: string | null,
): Promise<string> => {
  const endsAt = new Date(session.expiresAt ?? now.getTime() + defaultSessionMs)
  const [row] = await sql(writeSession, { accountId, id, sessionId: session.id, url: session.url, endsAt, key })
  return row?.url ?? session.url
}

const expireOrder = preparedStatement(
  'close-payment-order',
  { parameters: { accountId: 'text', id: 'text' } },
  `update payment_orders set status = 'expired' where account_id = :accountId and id = :id and status = 'open'`,
)

/** Marks an open order expired: the next answer opens a new one. */
export const closeOrder = async ({ sql, accountId }: Work, id: string): Promise<void> => {
  await sql(expireOrder, { accountId, id })
}

const lockOrderOfSession = preparedStatement(
  'payment-order-of-session',
  { row: { id: 'text' }, parameters: { accountId: 'text', id: 'text', reference: 'text?' } },
  `update payment_orders set session_id = :id
   where account_id = :accountId and provider = 'stripe' and (session_id = :id or (id = :reference and session_id is null)) returning id`,
)

/**
 * Locks the order of a Stripe session and returns its id; null if the account has no such order. A session that a crash kept from
 * being recorded is matched by its reference, the order's id.
 */
export const orderOfSession = async (
  { sql, accountId }: Work,
  { id, reference }: CheckoutEvent['session'],
): Promise<string | null> => {
  const [row] = await sql(lockOrderOfSession, { accountId, id, reference })
  return row?.id ?? null
}

const paidOrder = columns(paymentOrders, [
  'id',
  'messageId',
  'blockId',
  'projectId',
  'projectVersion',
  'email',
  'currency',
  'amount',
  'items',
])

const markPaid = preparedStatement(
  'settle-payment-order',
  { row: paidOrder.types, parameters: { accountId: 'text', id: 'text', now: 'timestamptz' } },
  `update payment_orders set status = 'paid', paid_at = :now where account_id = :accountId and id = :id and status <> 'paid'
   returning ${paidOrder.list}`,
)

/**
 * Marks an order paid, fires `purchase.completed` and `interaction.received`, and adds to the lead score. Repeated calls change
 * nothing.
 */
export const settleOrder = async (work: Work, id: string): Promise<void> => {
  const { sql, accountId, now } = work
  const [paid] = await sql(markPaid, { accountId, id, now })
  if (!paid) return
  const { messageId, blockId, projectId, currency } = paid
  const amount = toNumber(paid.amount)
  const { name } = await loadVersion(work, projectId, paid.projectVersion)
  const [contact = null] = await readContacts(work, paid.email)
  await emit(work, 'purchase.completed', () => [
    {
      purchase: { id, amount, currency, items: shownItems(paid.items), paidAt: now.getTime() },
      project: { id: projectId, name },
      contact,
    },
  ])
  // If the recipient was erased in the meantime, only the payment is recorded.
  const sent = paid.email === '' ? null : await loadSent(work, accountId, messageId)
  if (sent)
    await recordInteraction(work, sent, { kind: 'purchase', blockId, value: { amount, currency }, onOther: 'keep' })
}

import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { addressPattern } from '../lib/erased.ts'
import { toNumber } from '../lib/money.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { noSuch } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql } from '../store/work.ts'
import { paymentOrders } from './checkout.columns.ts'
import { type Order, shownItems } from './checkout.orders.ts'

export const paymentStatuses = ['open', 'paid', 'expired'] as const satisfies readonly Order['status'][]

const payment = columns(paymentOrders, [
  'id',
  'status',
  'amount',
  'currency',
  'items',
  'email',
  'projectId',
  'messageId',
  'blockId',
  'provider',
  'createdAt',
  'paidAt',
])

type Row = RowOf<typeof payment.types>

/**
 * An order as `svc payments` shows it. `amount` is the total of all items, that of an item the price of one. The address is empty once
 * the recipient was erased.
 */
export type PaymentView = InEpochMs<Omit<Row, 'amount'> & { amount: number }>

const viewOf = (row: Row): PaymentView =>
  inEpochMs({ ...row, amount: toNumber(row.amount), items: shownItems(row.items) })

const readPage = statement(
  'list-payments',
  { row: payment.types, parameters: { accountId: 'text', before: 'text?', status: 'text?', limit: 'int8' } },
  `select ${payment.list} from payment_orders
   where account_id = :accountId and (:before::text is null or id < :before) and (:status::text is null or status = :status)
   order by id desc limit :limit`,
)

/** Returns a page of the account's payments, newest first. Throws Problem `invalid` for a bad cursor. */
export const listPayments = async (
  { sql, accountId }: AccountSql,
  { status }: { status: PaymentView['status'] | null },
  { limit, cursor }: PageRequest,
): Promise<Page<PaymentView>> => {
  const before = idOfCursor('pay', cursor)
  const rows = await sql(readPage, { accountId, before, status, limit: limit + 1 })
  return pageOf(rows.map(viewOf), limit)
}

const readPaymentsOf = statement(
  'payments-of-address',
  { row: payment.types, parameters: { accountId: 'text', email: 'text', pattern: 'text' } },
  `select ${payment.list} from payment_orders where account_id = :accountId and (email = :email or items::text ~* :pattern) order by id`,
)

/** Returns all payments of a normalised address, and those whose items name it, oldest first. */
export const paymentsOf = async ({ sql, accountId }: AccountSql, email: string): Promise<PaymentView[]> =>
  (await sql(readPaymentsOf, { accountId, email, pattern: addressPattern(email) })).map(viewOf)

const readPayment = statement(
  'read-payment',
  { row: payment.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${payment.list} from payment_orders where account_id = :accountId and id = :id`,
)

/** Returns a payment by its id. Throws Problem `not_found`. */
export const showPayment = async ({ sql, accountId }: AccountSql, id: string): Promise<PaymentView> => {
  const [row] = await sql(readPayment, { accountId, id })
  if (!row) throw noSuch('payment', id, { hint: 'svc payments list' })
  return viewOf(row)
}

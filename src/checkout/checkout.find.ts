import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { toNumber } from '../lib/money.ts'
import type { PageRequest } from '../lib/page.ts'
import { noSuch } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { CheckoutItem } from '../studio/studio.ts'
import { type Order, shownItems } from './checkout.orders.ts'
import type { ProviderKind } from './checkout.provider.ts'

export const paymentStatuses = ['open', 'paid', 'expired'] as const satisfies readonly Order['status'][]

/** An order as `svc payments` shows it. Times in epoch ms. */
export interface PaymentView {
  id: string
  status: Order['status']
  /** The total of all items. */
  amount: number
  currency: string
  /** `amount` is the price of one. */
  items: CheckoutItem[]
  /** Empty once the recipient was erased. */
  email: string
  projectId: string
  messageId: string
  blockId: string
  provider: ProviderKind
  createdAt: number
  paidAt: number | null
}

type Row = Omit<PaymentView, 'amount' | 'createdAt' | 'paidAt'> & {
  amount: string
  createdAt: Date
  paidAt?: Date | null | undefined
}

const viewOf = (row: Row): PaymentView => ({
  id: row.id,
  status: row.status,
  amount: toNumber(row.amount),
  currency: row.currency,
  items: shownItems(row.items),
  email: row.email,
  projectId: row.projectId,
  messageId: row.messageId,
  blockId: row.blockId,
  provider: row.provider,
  createdAt: row.createdAt.getTime(),
  paidAt: row.paidAt?.getTime() ?? null,
})

const entitiesOf = (work: Work) => work.em(import('./checkout.entities.ts'))

/** Returns a page of the account's payments, newest first. Throws Problem `invalid` for a bad cursor. */
export const listPayments = async (
  work: Work,
  { status }: { status: PaymentView['status'] | null },
  { limit, cursor }: PageRequest,
): Promise<Page<PaymentView>> => {
  const [em, { PaymentOrder }] = await entitiesOf(work)
  const where = {
    ...(cursor !== undefined && { id: { $lt: idOfCursor('pay', cursor) } }),
    ...(status !== null && { status }),
  }
  const orders = await em.find(PaymentOrder, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
  return pageOf(orders.map(viewOf), limit)
}

/** Returns all payments of a normalised address, oldest first. */
export const paymentsOf = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  email: string,
): Promise<PaymentView[]> => {
  const rows = await sql<Row>(
    `select id, status, amount, currency, items, email, project_id as "projectId", message_id as "messageId",
       block_id as "blockId", provider, created_at as "createdAt", paid_at as "paidAt"
     from payment_orders where account_id = $1 and email = $2 order by id`,
    [accountId, email],
  )
  return rows.map(viewOf)
}

/** Returns a payment by its id. Throws Problem `not_found`. */
export const showPayment = async (work: Work, id: string): Promise<PaymentView> => {
  const [em, { PaymentOrder }] = await entitiesOf(work)
  const order = await em.findOne(PaymentOrder, { id })
  if (!order) throw noSuch('payment', id, { hint: 'svc payments list' })
  return viewOf(order)
}

import {
  type Answered,
  type BlockKind,
  type BlockOf,
  recipientActor,
  recipientWork,
  type SentMail,
  viewUrl,
} from '../engagement/engagement.ts'
import { conflict, invalid } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { closeOrder, insertOrder, lockOrder, type Order, recordSession, settleOrder } from './checkout.orders.ts'
import { findProvider } from './checkout.provider.ts'
import { openProvider, type PaymentProvider } from './checkout.sessions.ts'

/*
 * Answers checkout blocks: first the order is stored, then a session is requested from the provider outside of any unit of work,
 * then the session is recorded. A crash in between leaves an open order without a session; the next answer requests the same
 * session again.
 */

type Block = BlockOf<'checkout'>

interface Reserved {
  order: Order
  provider: PaymentProvider
}

/**
 * Returns the recipient's open order, and creates one if there is none; null if the block is paid. Throws Problem `conflict` if
 * the account has no payment provider.
 */
const reserveOrder = async (app: App, work: Work, sent: SentMail, block: Block): Promise<Reserved | null> => {
  for (;;) {
    const existing = await lockOrder(work, sent.id, block.id)
    if (existing?.status === 'paid') return null
    const found = await findProvider(app, work)
    if (!found) throw conflict('Payments are not set up', { hint: 'svc payments provider set' })
    const provider = openProvider(app, found)
    if (existing?.provider === found.kind) return { order: existing, provider }
    // The order belongs to a former provider, whose reports are no longer received.
    if (existing) await closeOrder(work, existing.id)
    const order = await insertOrder(work, sent, block, found.kind)
    if (order) return { order, provider }
  }
}

/** Returns the URL of the order's session, or null if the session is missing or expired, or another key opened it. */
const validSessionUrl = ({ order: { session }, provider }: Reserved, now: Date): string | null =>
  session?.endsAt && session.endsAt > now && session.key === provider.key ? session.url : null

/** Returns the URL to which the provider sends the browser back: the block in the live view, with the outcome as its `value`. */
export const returnTo = (
  app: Pick<App, 'tokens' | 'config'>,
  { accountId, messageId, blockId }: Pick<Order, 'accountId' | 'messageId' | 'blockId'>,
  value: 'paid' | 'declined',
): string => `${viewUrl(app, accountId, messageId)}?${new URLSearchParams({ block: blockId, value })}#${blockId}`

/** Opens the order's session at the provider, and records it. */
const openSession = async (app: App, sent: SentMail, { order, provider }: Reserved): Promise<Answered> => {
  const session = await provider.open(order, {
    paid: returnTo(app, order, 'paid'),
    declined: returnTo(app, order, 'declined'),
  })
  const redirectUrl = await recipientWork(app, sent, (work) => recordSession(work, order.id, session, provider.key))
  return { duplicate: false, redirectUrl }
}

/**
 * Asks the provider for the state of a session that has expired or that another key opened, and continues accordingly. A new
 * session is opened only if the former one can no longer be paid.
 */
const checkSession = async (
  app: App,
  sent: SentMail,
  block: Block,
  { order, provider }: Reserved,
): Promise<Answered> => {
  const { accountId, id, session } = order
  const state = await provider.checkState(session!)
  const redirectUrl = state === 'open' && session!.key === provider.key ? session!.url : null
  if (state === 'paid') await app.work(accountId, recipientActor, (work) => settleOrder(work, id))
  else if (state !== 'pending' && !redirectUrl) {
    if (state === 'open') await provider.end(session!)
    await app.work(accountId, recipientActor, (work) => closeOrder(work, id))
    return requestSession(app, sent, block)
  }
  // Only looks whether the recipient was erased meanwhile. What became of the order is recorded in any case.
  await recipientWork(app, sent, async () => {})
  if (state === 'pending') throw conflict('The payment is under way')
  return redirectUrl ? { duplicate: false, redirectUrl } : { duplicate: true }
}

const requestSession = async (app: App, sent: SentMail, block: Block): Promise<Answered> => {
  const reserved = await recipientWork(app, sent, (work) => reserveOrder(app, work, sent, block))
  if (!reserved) return { duplicate: true }
  const redirectUrl = validSessionUrl(reserved, app.now())
  if (redirectUrl) return { duplicate: false, redirectUrl }
  return reserved.order.session ? checkSession(app, sent, block, reserved) : openSession(app, sent, reserved)
}

/** Answers in progress in this process, by email and block: concurrent answers share one. */
const inProgress = new Map<string, Promise<Answered>>()

const answerCheckout = (app: App, sent: SentMail, block: Block): Promise<Answered> => {
  const key = `${sent.accountId} ${sent.id} ${block.id}`
  return inProgress.getOrInsertComputed(key, () =>
    requestSession(app, sent, block).finally(() => inProgress.delete(key)),
  )
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0

/** A checkout block. Its answer is empty: items and amounts come from the project only. */
const checkoutBlock: BlockKind<'checkout'> = {
  type: 'checkout',
  async answer(app, sent, block, value) {
    if (!isEmptyObject(value)) throw invalid('value must be {}')
    return answerCheckout(app, sent, block)
  },
}

// A list of several kinds: each is called only with blocks of its own type.
export const blocks: readonly BlockKind[] = [checkoutBlock]

import {
  type Answered,
  type BlockKind,
  type BlockOf,
  recipientActor,
  type SentMail,
  viewUrl,
} from '../engagement/engagement.ts'
import { conflict, invalid } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { addOrder, closeOrder, lockOrder, type Order, recordSession, settleOrder } from './checkout.orders.ts'
import { findProvider } from './checkout.provider.ts'
import { openProvider, type PaymentProvider } from './checkout.sessions.ts'

/*
 * An answer to a checkout block: the order is kept first, then the provider is asked for a session in no unit of work, then that
 * is noted. A crash in between leaves an open order without a session; the next answer asks for the same one again.
 */

type Block = BlockOf<'checkout'>

interface Reserved {
  order: Order
  provider: PaymentProvider
}

/** The recipient's open order, made where there is none; null: it is paid. Throws Problem `conflict` without a provider. */
const reserveOrder = async (app: App, work: Work, sent: SentMail, block: Block): Promise<Reserved | null> => {
  for (;;) {
    const held = await lockOrder(work, sent.id, block.id)
    if (held?.status === 'paid') return null
    const found = await findProvider(app, work)
    if (!found) throw conflict('Payments are not set up', { hint: 'svc payments provider set' })
    const provider = openProvider(app, found)
    if (held?.provider === found.kind) return { order: held, provider }
    // The other provider's session would be paid where nobody listens any more.
    if (held) await closeOrder(work, held.id)
    const order = await addOrder(work, sent, block, found.kind)
    if (order) return { order, provider }
  }
}

const isLiving = ({ session }: Order, now: Date): boolean => session?.endsAt != null && session.endsAt > now

/** Opens the order's session, and notes it. */
const openSession = async (app: App, { order, provider }: Reserved): Promise<Answered> => {
  const { accountId, id, messageId } = order
  const session = await provider.open(order, viewUrl(app, accountId, messageId))
  const redirectUrl = await app.work(accountId, recipientActor, (work) => recordSession(work, id, session))
  return { duplicate: false, redirectUrl }
}

/**
 * The time of the order's session is over, and nobody told what became of it: the provider knows. Never is a second one opened
 * beside one that may still be paid.
 */
const lookAfter = async (app: App, sent: SentMail, block: Block, { order, provider }: Reserved): Promise<Answered> => {
  const { accountId, id, session } = order
  const state = await provider.look(session!.id)
  if (state === 'open' && session!.url) return { duplicate: false, redirectUrl: session!.url }
  if (state === 'pending') throw conflict('The payment is under way')
  if (state === 'paid') {
    await app.work(accountId, recipientActor, (work) => settleOrder(work, id))
    return { duplicate: true }
  }
  await app.work(accountId, recipientActor, (work) => closeOrder(work, id))
  return askForSession(app, sent, block)
}

const askForSession = async (app: App, sent: SentMail, block: Block): Promise<Answered> => {
  const reserved = await app.work(sent.accountId, recipientActor, (work) => reserveOrder(app, work, sent, block))
  if (!reserved) return { duplicate: true }
  const { order } = reserved
  if (isLiving(order, app.now()) && order.session?.url) return { duplicate: false, redirectUrl: order.session.url }
  return order.session ? lookAfter(app, sent, block, reserved) : openSession(app, reserved)
}

/** Answers of this process that are under way, by recipient and block: who answers at the same time waits for the same one. */
const underWay = new Map<string, Promise<Answered>>()

const answerCheckout = (app: App, sent: SentMail, block: Block): Promise<Answered> => {
  const key = `${sent.accountId} ${sent.id} ${block.id}`
  return underWay.getOrInsertComputed(key, () => askForSession(app, sent, block).finally(() => underWay.delete(key)))
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0

/** A checkout block: it is answered by setting out to pay, what it says is the project's alone. */
export const checkoutBlock: BlockKind<'checkout'> = {
  type: 'checkout',
  async answer(app, sent, block, value) {
    if (!isEmptyObject(value)) throw invalid('value must be {}')
    return answerCheckout(app, sent, block)
  },
}

export const blocks: readonly BlockKind[] = [checkoutBlock] as unknown as readonly BlockKind[]

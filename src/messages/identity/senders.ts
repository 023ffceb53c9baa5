import { z } from 'zod'
import { lockAccount } from '../../accounts/accounts.ts'
import { newId } from '../../lib/ids.ts'
import { parse } from '../../lib/parse.ts'
import { conflict, noSuch, shown } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import type { Sender } from '../messages.entities.ts'
import { DisplayName, Recipient } from '../messages.shapes.ts'

const NewSender = z.object({ email: Recipient, name: DisplayName, replyTo: Recipient.optional() })

export interface SenderView {
  id: string
  email: string
  name: string
  replyTo: string | null
  isDefault: boolean
  createdAt: number
}

const view = ({ id, email, name, replyTo, isDefault, createdAt }: Sender): SenderView => ({
  ...{ id, email, name, isDefault },
  replyTo: replyTo ?? null,
  createdAt: createdAt.getTime(),
})

const entitiesOf = (work: Work) => work.em(import('../messages.entities.ts'))

const readSenders = async (work: Work): Promise<Sender[]> => {
  const [em, { Sender }] = await entitiesOf(work)
  return em.find(Sender, {}, { orderBy: { id: 'asc' } })
}

const requireSender = (senders: readonly Sender[], ref: string): Sender => {
  const sender = senders.find(({ id, email }) => id === ref || email === ref)
  if (!sender) throw noSuch('sender', ref, { hint: 'svc senders list' })
  return sender
}

/** Adds a sender. The first one of an account becomes its default. Throws Problem `conflict` if the address is a sender already. */
export const addSender = async (work: Work, input: z.input<typeof NewSender>): Promise<SenderView> => {
  const { accountId, now } = work
  const { email, name, replyTo = null } = parse(NewSender, input)
  const [em, { Sender }] = await entitiesOf(work)
  // The second of two concurrent calls then sees the first one's default sender.
  await lockAccount(work)
  const senders = await readSenders(work)
  if (senders.some((sender) => sender.email === email))
    throw conflict(`${shown(email)} is a sender already`, { hint: 'svc senders list' })
  const isDefault = !senders.some((sender) => sender.isDefault)
  const id = newId('snd', now.getTime())
  const sender = em.create(Sender, { id, accountId, email, name, replyTo, isDefault, createdAt: now })
  await em.flush()
  return view(sender)
}

export const listSenders = async (work: Work): Promise<SenderView[]> => (await readSenders(work)).map(view)

/** By id or address. Throws Problem `not_found`. */
export const findSender = async (work: Work, ref: string): Promise<SenderView> =>
  view(requireSender(await readSenders(work), ref))

/** Makes a sender (id or address) the default, for messages that name no sender. Throws Problem `not_found`. */
export const makeDefaultSender = async (work: Work, ref: string): Promise<SenderView> => {
  await lockAccount(work)
  const [[em], senders] = await Promise.all([entitiesOf(work), readSenders(work)])
  const chosen = requireSender(senders, ref)
  for (const sender of senders) if (sender !== chosen) sender.isDefault = false
  // Flushed by itself: a unique index allows one default at any moment.
  await em.flush()
  chosen.isDefault = true
  await em.flush()
  return view(chosen)
}

/** Deletes a sender (id or address). If it was the default, the account has none afterwards. Throws Problem `not_found`. */
export const deleteSender = async (work: Work, ref: string): Promise<SenderView> => {
  const [[em], senders] = await Promise.all([entitiesOf(work), readSenders(work)])
  const sender = requireSender(senders, ref)
  await em.remove(sender).flush()
  return view(sender)
}

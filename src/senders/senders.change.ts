import { z } from 'zod'
import { lockAccount } from '../accounts/accounts.ts'
import { emailAddress } from '../lib/address.ts'
import { normalizeEmail } from '../lib/email.ts'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { conflict, noSuch, shown } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { RowOf } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { senders } from './senders.columns.ts'

const nameMaxLength = 200

/** A display name, reduced to one line. */
export const DisplayName = text(nameMaxLength).transform((name) => name.replace(/[\p{Cc}\s]+/gu, ' ').trim())

const NewSender = z.object({ email: emailAddress(), name: DisplayName, replyTo: emailAddress().optional() })

const entitiesOf = (work: Work) => work.em(import('./senders.entities.ts'))

const own = columns(senders, ['id', 'email', 'name', 'replyTo', 'isDefault'])
const viewTypes = { ...own.types, createdAt: 'int8' } as const

export type SenderView = RowOf<typeof viewTypes>

const readSenders = statement(
  'read-senders',
  { row: viewTypes, parameters: { accountId: 'text' } },
  `select ${own.list}, ${epochMs('created_at')} as "createdAt" from senders where account_id = :accountId order by id`,
)

/** Returns the account's senders, oldest first. */
export const listSenders = ({ sql, accountId }: Work): Promise<SenderView[]> => sql(readSenders, { accountId })

const senderNotFound = (ref: string) => noSuch('sender', ref, { hint: 'svc senders list' })

/** Finds a sender by its id or address. Throws Problem `not_found`. */
export const findSender = async (work: Work, ref: string): Promise<SenderView> => {
  const address = normalizeEmail(ref)
  const sender = (await listSenders(work)).find(({ id, email }) => id === ref || email === address)
  if (!sender) throw senderNotFound(ref)
  return sender
}

/** Adds a sender. The first one of an account becomes its default. Throws Problem `conflict` if the address is a sender already. */
export const addSender = async (work: Work, input: z.input<typeof NewSender>): Promise<SenderView> => {
  const { accountId, now } = work
  const { email, name, replyTo = null } = parse(NewSender, input)
  // The second of two concurrent calls then sees the first one's default sender.
  await lockAccount(work)
  const senders = await listSenders(work)
  if (senders.some((sender) => sender.email === email))
    throw conflict(`${shown(email)} is a sender already`, { hint: 'svc senders list' })
  const isDefault = !senders.some((sender) => sender.isDefault)
  const id = newId('snd', now.getTime())
  const [em, { Sender }] = await entitiesOf(work)
  em.create(Sender, { id, accountId, email, name, replyTo, isDefault, createdAt: now })
  await em.flush()
  return { id, email, name, replyTo, isDefault, createdAt: now.getTime() }
}

// Before the account: an erasure locks senders first, too.
const lockSenders = statement(
  'lock-senders',
  { parameters: { accountId: 'text' } },
  'select from senders where account_id = :accountId order by id for no key update',
)

/** Makes a sender (id or address) the default, for messages that name no sender. Throws Problem `not_found`. */
export const makeDefaultSender = async (work: Work, ref: string): Promise<SenderView> => {
  await work.sql(lockSenders, { accountId: work.accountId })
  await lockAccount(work)
  const chosen = await findSender(work, ref)
  const { id } = chosen
  const [em, { Sender }] = await entitiesOf(work)
  // A statement of its own: a unique index allows one default at any moment.
  await em.nativeUpdate(Sender, { isDefault: true, id: { $ne: id } }, { isDefault: false })
  await em.nativeUpdate(Sender, { id }, { isDefault: true })
  return { ...chosen, isDefault: true }
}

/** Deletes a sender (id or address). If it was the default, the account has none afterwards. Throws Problem `not_found`. */
export const deleteSender = async (work: Work, ref: string): Promise<SenderView> => {
  const sender = await findSender(work, ref)
  const [em, { Sender }] = await entitiesOf(work)
  if ((await em.nativeDelete(Sender, { id: sender.id })) === 0) throw senderNotFound(ref)
  return sender
}

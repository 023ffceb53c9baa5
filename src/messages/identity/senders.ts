import { z } from 'zod'
import { lockAccount } from '../../accounts/accounts.ts'
import { newId } from '../../lib/ids.ts'
import { parse } from '../../lib/parse.ts'
import { conflict, noSuch, shown } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import { DisplayName, Recipient } from '../api/shapes.ts'

const NewSender = z.object({ email: Recipient, name: DisplayName, replyTo: Recipient.optional() })

export interface SenderView {
  id: string
  email: string
  name: string
  replyTo: string | null
  isDefault: boolean
  createdAt: number
}

const columns = `id, email, name, reply_to as "replyTo", is_default as "isDefault",
  (extract(epoch from created_at) * 1000)::int8 as "createdAt"`

/** Adds a sender. The first one of an account becomes its default. Throws Problem `conflict` if the address is a sender already. */
export const addSender = async (work: Work, input: z.input<typeof NewSender>): Promise<SenderView> => {
  const { sql, accountId, now } = work
  const { email, name, replyTo = null } = parse(NewSender, input)
  // The second of two concurrent calls then sees the first one's default sender.
  await lockAccount(work)
  const [row] = await sql<SenderView>(
    `insert into senders (id, account_id, email, name, reply_to, is_default, created_at)
     select $2, $1, $3, $4, $5, not exists (select from senders where account_id = $1 and is_default), $6
     on conflict (account_id, email) do nothing returning ${columns}`,
    [accountId, newId('snd', now.getTime()), email, name, replyTo, now],
  )
  if (!row) throw conflict(`${shown(email)} is a sender already`, { hint: 'svc senders list' })
  return row
}

export const listSenders = ({ sql, accountId }: Work): Promise<SenderView[]> =>
  sql<SenderView>(`select ${columns} from senders where account_id = $1 order by id`, [accountId])

/** By id or address. Throws Problem `not_found`. */
export const findSender = async (work: Work, ref: string): Promise<SenderView> => {
  const sender = (await listSenders(work)).find(({ id, email }) => id === ref || email === ref)
  if (!sender) throw noSuch('sender', ref, { hint: 'svc senders list' })
  return sender
}

/** Makes a sender (id or address) the default, for messages that name no sender. Throws Problem `not_found`. */
export const makeDefaultSender = async (work: Work, ref: string): Promise<SenderView> => {
  const { sql, accountId } = work
  const { id } = await findSender(work, ref)
  await lockAccount(work)
  await sql('update senders set is_default = false where account_id = $1 and is_default and id <> $2', [accountId, id])
  const [row] = await sql<SenderView>(
    `update senders set is_default = true where account_id = $1 and id = $2 returning ${columns}`,
    [accountId, id],
  )
  return row!
}

/** Deletes a sender (id or address). If it was the default, the account has none afterwards. Throws Problem `not_found`. */
export const deleteSender = async (work: Work, ref: string): Promise<SenderView> => {
  const sender = await findSender(work, ref)
  await work.sql('delete from senders where account_id = $1 and id = $2', [work.accountId, sender.id])
  return sender
}

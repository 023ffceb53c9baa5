import { emailDomain } from '../lib/email.ts'
import { invalid, Problem } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { relayColumns, type StoredRelay } from './mail.claim.ts'
import { asciiAddress } from './messages.shapes.ts'

/** Who a mail is to be from, as its sender says. */
export interface FromChoice {
  from?: { email: string; name?: string | undefined } | undefined
  senderId?: string | undefined
  replyTo?: string | undefined
}

export interface From {
  fromEmail: string
  fromName: string
  replyTo: string | null
}

interface StoredSender {
  id: string
  email: string
  name: string
  replyTo: string | null
  isDefault: boolean
}

interface Setup {
  relay: StoredRelay | null
  senders: StoredSender[]
  domains: string[]
}

const reading = `
  select
    (select row_to_json(r) from (select ${relayColumns} from relays r where r.account_id = $1) r) as relay,
    (select coalesce(json_agg(s), '[]') from (
      select id, email, name, reply_to as "replyTo", is_default as "isDefault" from senders
      where account_id = $1 and (is_default or id = any($2) or email = any($3))
    ) s) as senders,
    array(select domain from domains where account_id = $1 and domain = any($4) and status = 'verified') as domains`

/** How the account sends: its relay, and who may be named by the choices. */
export interface Method {
  relay: StoredRelay | null
  /** What speaks against sending at all; null: nothing. */
  refusal: Problem | null
  /** Who the mail is from, or why it can't be (decisions.md, Send). */
  from(choice: FromChoice): From | Problem
}

const choose = ({ senders, domains }: Setup, { from, senderId, replyTo }: FromChoice): From | Problem => {
  if (from) {
    const sender = senders.find(({ email }) => email === from.email)
    if (!sender && !domains.includes(emailDomain(from.email) ?? ''))
      return invalid('from.email must be a sender of the account or lie on a verified domain of it', {
        hint: 'svc senders add',
      })
    return {
      fromEmail: asciiAddress(from.email),
      fromName: from.name ?? sender?.name ?? '',
      replyTo: replyTo ?? sender?.replyTo ?? null,
    }
  }
  const sender = senders.find(({ id, isDefault }) => (senderId === undefined ? isDefault : id === senderId))
  if (!sender && senderId !== undefined)
    return invalid('senderId must be a sender of the account', { hint: 'svc senders list' })
  if (!sender) return invalid('from is required: the account has no default sender', { hint: 'svc senders add' })
  return { fromEmail: asciiAddress(sender.email), fromName: sender.name, replyTo: replyTo ?? sender.replyTo }
}

/** Reads all that decides from whom and by what way these mails go, by one statement. */
export const readMethod = async (
  { config }: Pick<App, 'config'>,
  { sql, accountId }: Work,
  choices: readonly FromChoice[],
): Promise<Method> => {
  const emails = choices.flatMap(({ from }) => from?.email ?? [])
  const [setup] = await sql<Setup>(
    reading,
    [
      accountId,
      choices.flatMap(({ senderId }) => senderId ?? []),
      emails,
      emails.flatMap((email) => emailDomain(email) ?? []),
    ],
    'sending-method',
  )
  const { relay } = setup!
  return {
    relay,
    refusal:
      relay || config.smtpUrl !== null ? null : invalid('The account has no sending method', { hint: 'svc relay set' }),
    from: (choice) => choose(setup!, choice),
  }
}

/** Throws Problem `invalid` where the account has no sending method, or nobody to send from. */
export const demandMethod = async (app: Pick<App, 'config'>, work: Work): Promise<void> => {
  const method = await readMethod(app, work, [])
  const refusal = method.refusal ?? method.from({})
  if (refusal instanceof Problem) throw refusal
}

/**
 * Who a mail can be from: the first of the choices that may be, with its address as the mail will have it. null: none may, or
 * the account can't send at all; such a mail is queued all the same, and tells why.
 */
export const findFrom = async <Choice extends FromChoice>(
  app: Pick<App, 'config'>,
  work: Work,
  choices: readonly Choice[],
): Promise<{ choice: Choice; from: From } | null> => {
  const method = await readMethod(app, work, choices)
  for (const choice of choices) {
    const from = method.from(choice)
    if (!method.refusal && !(from instanceof Problem)) return { choice, from }
  }
  return null
}

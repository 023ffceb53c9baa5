import { asciiAddress, emailDomain } from '../lib/email.ts'
import { invalid, noSuch, Problem } from '../lib/problem.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { preparedStatement } from '../store/statement.ts'
import type { App, Work } from '../store/work.ts'
import { relayOf, type StoredRelay } from './relays.rows.ts'

/** The sender that a message asks for: an address, or the id of a stored sender. */
export interface FromChoice {
  from?: { email: string; name?: string | undefined } | undefined
  senderId?: string | undefined
  /** It is null for none, also if the sender has one. */
  replyTo?: string | null | undefined
}

/** Returns the choice that an operator names: the id of a sender, or an address. */
export const senderChoice = (ref: string): FromChoice =>
  ref.includes('@') ? { from: { email: ref.trim().toLowerCase() } } : { senderId: ref }

export interface From {
  /** The address as it was chosen, whose domain may be in Unicode. */
  address: string
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

const setup = {
  relay: typed<StoredRelay | null>('json'),
  senders: typed<StoredSender[]>('json'),
  domains: '_text',
} as const
type Setup = RowOf<typeof setup>

const selectSetup = preparedStatement(
  'sending-method',
  { row: setup, parameters: { accountId: 'text', ids: '_text', emails: '_text', domains: '_text' } },
  `select
    ${relayOf(':accountId')} as relay,
    (select coalesce(json_agg(s), '[]') from (
      select id, email, name, reply_to as "replyTo", is_default as "isDefault" from senders
      where account_id = :accountId and (is_default or id = any(:ids) or email = any(:emails))
    ) s) as senders,
    array(select domain from domains where account_id = :accountId and domain = any(:domains) and status = 'verified') as domains`,
)

/** An account's relay, and the senders that it may use. */
export interface Method {
  relay: StoredRelay | null
  /** Why the account can't send at all. It is null if it can. */
  refusal: Problem | null
  /** Returns the sender of a message, or why the choice is not allowed (docs/reference/mail.md#sender). */
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
      address: from.email,
      fromEmail: asciiAddress(from.email),
      fromName: from.name ?? sender?.name ?? '',
      replyTo: replyTo === undefined ? (sender?.replyTo ?? null) : replyTo,
    }
  }
  const sender = senders.find(({ id, isDefault }) => (senderId === undefined ? isDefault : id === senderId))
  if (!sender && senderId !== undefined)
    return invalid('senderId must be a sender of the account', { hint: 'svc senders list' })
  if (!sender) return invalid('from is required: the account has no default sender', { hint: 'svc senders add' })
  return {
    address: sender.email,
    fromEmail: asciiAddress(sender.email),
    fromName: sender.name,
    replyTo: replyTo === undefined ? sender.replyTo : replyTo,
  }
}

const readSetup = async ({ sql, accountId }: Work, choices: readonly FromChoice[]): Promise<Setup> => {
  const emails = choices.flatMap(({ from }) => from?.email ?? [])
  const [setup] = await sql(selectSetup, {
    accountId,
    ids: choices.flatMap(({ senderId }) => senderId ?? []),
    emails,
    domains: emails.flatMap((email) => emailDomain(email) ?? []),
  })
  return setup!
}

/** Reads the relay, senders and domains that these choices need, in one statement. */
export const readMethod = async (
  { config }: Pick<App, 'config'>,
  work: Work,
  choices: readonly FromChoice[],
): Promise<Method> => {
  const setup = await readSetup(work, choices)
  const { relay } = setup
  return {
    relay,
    refusal:
      relay || config.smtpUrl !== null ? null : invalid('The account has no sending method', { hint: 'svc relay set' }),
    from: (choice) => choose(setup, choice),
  }
}

/**
 * Returns the chosen sender, by default the account's default sender. Throws Problem `invalid` where the account has no sending method,
 * or may not use the choice.
 */
export const requireMethod = async (app: Pick<App, 'config'>, work: Work, choice: FromChoice = {}): Promise<From> => {
  const method = await readMethod(app, work, [choice])
  const from = method.refusal ?? method.from(choice)
  if (from instanceof Problem) throw from
  return from
}

/**
 * Returns the id or the normalised address of a sender that the account may use. Throws Problem `not_found` for any other.
 */
export const requireSender = async (work: Work, ref: string): Promise<string> => {
  const choice = senderChoice(ref)
  const from = choose(await readSetup(work, [choice]), choice)
  if (from instanceof Problem) throw noSuch('sender', ref, { hint: 'svc senders list' })
  return choice.from?.email ?? ref
}

/**
 * Returns the first choice that is allowed, with the sender as the message will have it. Returns null if none is allowed or the
 * account can't send at all; such a message can still be queued, and its record then says why it failed.
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

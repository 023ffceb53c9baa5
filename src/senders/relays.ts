import { readBrand } from '../accounts/accounts.ts'
import { emailDomain, isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import { invalid, notFound } from '../lib/problem.ts'
import { urlHost } from '../net/addresses.ts'
import type { RelayAccess, SendOutcome, Verified } from '../net/smtp.ts'
import { statement } from '../store/statement.ts'
import type { App, Work } from '../store/work.ts'
import { accessOf, relayOfUrl } from './relays.access.ts'
import { relayColumns } from './relays.rows.ts'
import { relayMail } from './senders.mails.ts'
import { readMethod } from './senders.method.ts'

interface RelayView {
  /** The URL without its password. */
  url: string
  /** Its owner: the account, or the platform (SVC_SMTP_URL). */
  source: 'account' | 'platform'
  /** Whether a password is stored. */
  password: boolean
  bounceAddress: string | null
}

const urlOf = ({ host, port, isSecure, isTlsOptional, username }: Omit<RelayAccess, 'password'>): string => {
  const user = username === null ? '' : `${encodeURIComponent(username)}@`
  return `${isSecure ? 'smtps' : 'smtp'}://${user}${urlHost(host)}:${port}${isTlsOptional ? '?tls=optional' : ''}`
}

/**
 * Parses `smtp[s]://[user@]host[:port][?tls=optional]`. Throws Problem `invalid`, also for a URL with a password, which would stay
 * in the shell's history.
 */
const parseUrl = (text: string): RelayAccess => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (
    !url ||
    !/^smtps?:$/.test(url.protocol) ||
    url.hostname === '' ||
    !/^\/?$/.test(url.pathname) ||
    !/^(\?tls=optional)?$/.test(url.search) ||
    url.hash
  )
    throw invalid('url must be like smtp://user@host:587[?tls=optional] or smtps://user@host:465')
  if (url.password !== '') throw invalid('url must not contain a password', { hint: 'use --password-file <file|->' })
  return relayOfUrl(text)
}

/** Reports are sent to `<local>+<message>.<stamp>@…`, and a local part has at most 64 characters (RFC 5321 section 4.5.3). */
const bounceLocalMax = 16

const parseBounceAddress = (text: string): string => {
  const address = normalizeEmail(text)
  const local = address.slice(0, address.lastIndexOf('@'))
  if (!isEmailSyntax(address) || !emailDomain(address)) throw invalid('bounce-address must be an email address')
  if (local.length > bounceLocalMax)
    throw invalid(`bounce-address must have at most ${bounceLocalMax} characters before the @`)
  return address
}

const entitiesOf = (work: Work) => work.em(import('./senders.entities.ts'))

interface RelayInput {
  url: string
  password: string | null
  bounceAddress: string | null
}

/** Sets or replaces the account's own relay. Its password is stored sealed. Throws Problem `invalid`. */
export const setRelay = async ({ box }: Pick<App, 'box'>, work: Work, input: RelayInput): Promise<RelayView> => {
  const { accountId, now } = work
  const { host, port, isSecure, isTlsOptional, username } = parseUrl(input.url)
  const { password } = input
  if (password !== null && username === null)
    throw invalid('url must contain the user name that belongs to the password')
  const bounceAddress = input.bounceAddress === null ? null : parseBounceAddress(input.bounceAddress)
  const sealedPassword = password === null ? null : box.seal(password, accountId)
  const access = { host, port, isSecure, isTlsOptional, username, sealedPassword, bounceAddress }
  const [em, { Relay }] = await entitiesOf(work)
  await em.upsert(Relay, { accountId, ...access, updatedAt: now })
  // If this unit of work has written the row before, `upsert` has only changed the entity.
  await em.flush()
  return {
    url: urlOf({ host, port, isSecure, isTlsOptional, username }),
    source: 'account',
    password: password !== null,
    bounceAddress,
  }
}

const readOwn = statement(
  'read-relay',
  { row: relayColumns.types, parameters: { accountId: 'text' } },
  `select ${relayColumns.list} from relays r where r.account_id = :accountId`,
)

const none = () =>
  notFound('There is no relay: neither the account nor the platform has one', { hint: 'svc relay set' })

/** Returns the relay that sends the account's email: its own, else the platform's. Throws Problem `not_found` where there is no way. */
export const showRelay = async ({ config }: Pick<App, 'config'>, work: Work): Promise<RelayView> => {
  const [own] = await work.sql(readOwn, { accountId: work.accountId })
  if (own)
    return {
      url: urlOf(own),
      source: 'account',
      password: own.sealedPassword !== null,
      bounceAddress: own.bounceAddress,
    }
  if (config.smtpUrl === null) throw none()
  const platform = relayOfUrl(config.smtpUrl)
  return { url: urlOf(platform), source: 'platform', password: platform.password !== null, bounceAddress: null }
}

/** Deletes the account's own relay. Returns whether it had one. Waiting messages are sent by the platform's relay. */
export const unsetRelay = async (work: Work): Promise<boolean> => {
  const [em, { Relay }] = await entitiesOf(work)
  return (await em.nativeDelete(Relay, { accountId: work.accountId })) > 0
}

const faultOf = (outcome: SendOutcome): string | null => {
  if (outcome.kind === 'accepted') return null
  if (outcome.kind === 'withdrawn') return 'The process is stopping'
  return outcome.kind === 'refused' ? outcome.response : outcome.reason
}

/**
 * Connects to the account's relay, signs in and, with `to`, sends a small email from the default sender. Returns the relay's error,
 * if any, and the TLS version. Stores no message and counts no quota. Throws Problem `not_found` without a relay, `invalid` without a sender.
 */
export const testRelay = async (app: App, accountId: string, actor: string, to: string | null): Promise<Verified> => {
  const { stored, from, brand } = await app.work(accountId, actor, async (work) => {
    const method = await readMethod(app, work, [{}])
    return { stored: method.relay, from: to === null ? null : method.from({}), brand: await readBrand(work) }
  })
  if (from instanceof Error) throw from
  if (!stored && app.config.smtpUrl === null) throw none()
  const access = stored
    ? accessOf(stored, (sealed) => app.box.open(sealed, accountId))
    : relayOfUrl(app.config.smtpUrl!)
  const verified = await app.smtp.verify(access)
  if (verified.fault !== null || to === null || !from) return verified
  const mail = {
    from: { name: from.fromName, address: from.fromEmail },
    to,
    replyTo: from.replyTo,
    ...relayMail({ ...brand, publicUrl: app.config.publicUrl }),
    messageId: `<test.${app.now().getTime()}@${emailDomain(from.fromEmail)}>`,
    date: app.now(),
    calendar: null,
    bounceTo: from.fromEmail,
    headers: {},
    dkim: null,
  }
  const outcome = await app.smtp.send(access, mail, async () => true)
  return { ...verified, fault: faultOf(outcome) }
}

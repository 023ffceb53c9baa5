import { invalid, notFound } from '../lib/problem.ts'
import { decodedPart } from '../lib/url-parts.ts'
import { urlHost } from '../net/addresses.ts'
import { type ImapAccess, MailboxFailure, withMailbox } from '../net/imap.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { bounceMailboxes } from './bounces.columns.ts'

interface MailboxView {
  /** The URL without its password. */
  url: string
  /** Whether a password is stored. */
  password: boolean
  /** The time of the latest attempt to read it, in epoch ms, and its error. */
  readAt: number | null
  error: string | null
}

const stored = ['host', 'port', 'isSecure', 'username', 'folder', 'sealedPassword'] as const
const shownColumns = columns(bounceMailboxes, [...stored, 'readAt', 'error'])

/** The columns of a mailbox as it is stored, from `bounce_mailboxes b`. */
export const mailboxColumns = columns(bounceMailboxes, ['accountId', ...stored, 'updatedAt'], 'b')

type StoredMailbox = Omit<RowOf<typeof mailboxColumns.types>, 'accountId' | 'updatedAt'>

const contextOf = (accountId: string): string => `bounces ${accountId}`

/** Returns the mailbox with its password opened. */
export const accessOf = (
  { box }: Pick<App, 'box'>,
  accountId: string,
  { sealedPassword, host, port, isSecure, username, folder }: StoredMailbox,
): ImapAccess => {
  const password = sealedPassword !== null ? box.open(sealedPassword, contextOf(accountId)) : ''
  return { host, port, isSecure, username, password, folder }
}

const inbox = 'INBOX'

const urlOf = ({ host, port, isSecure, username, folder }: Omit<ImapAccess, 'password'>): string => {
  const path = folder === inbox ? '' : `/${folder.split('/').map(encodeURIComponent).join('/')}`
  const place = `${urlHost(host)}:${port}`
  return `${isSecure ? 'imaps' : 'imap'}://${encodeURIComponent(username)}@${place}${path}`
}

/** Parses `imap[s]://user@host[:port][/folder]`. Throws Problem `invalid`, also for a URL with a password. */
const parseUrl = (text: string): Omit<ImapAccess, 'password'> => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^imaps?:$/.test(url.protocol) || url.hostname === '' || url.username === '' || url.search || url.hash)
    throw invalid('url must be like imaps://user@host or imaps://user@host:993/Folder')
  if (url.password !== '') throw invalid('url must not contain a password', { hint: 'use --password-file <file|->' })
  const isSecure = url.protocol === 'imaps:'
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (isSecure ? 993 : 143) : Number(url.port),
    isSecure,
    username: decodedPart(url.username),
    folder: decodedPart(url.pathname.replace(/^\/|\/$/g, '')) || inbox,
  }
}

const entitiesOf = (work: Work) => work.em(import('./bounces.entities.ts'))

/** Sets or replaces the mailbox that the account's reports are read from. Its password is stored sealed. Throws Problem `invalid`. */
export const setMailbox = async (
  { box }: Pick<App, 'box'>,
  work: Work,
  { url, password }: { url: string; password: string | null },
): Promise<MailboxView> => {
  const mailbox = parseUrl(url)
  const { accountId, now } = work
  const sealedPassword = password === null ? null : box.seal(password, contextOf(accountId))
  const [em, { BounceMailbox }] = await entitiesOf(work)
  await em.upsert(BounceMailbox, { accountId, ...mailbox, sealedPassword, updatedAt: now, readAt: null, error: null })
  // If this unit of work has written the row before, `upsert` has only changed the entity.
  await em.flush()
  return { url: urlOf(mailbox), password: password !== null, readAt: null, error: null }
}

const readMailbox = statement(
  'read-mailbox',
  { row: shownColumns.types, parameters: { accountId: 'text' } },
  `select ${shownColumns.list} from bounce_mailboxes where account_id = :accountId`,
)

const requireMailbox = async ({ sql, accountId }: Work) => {
  const [mailbox] = await sql(readMailbox, { accountId })
  if (!mailbox) throw notFound('There is no mailbox for reports', { hint: 'svc bounces mailbox set' })
  return mailbox
}

/** Throws Problem `not_found`. */
export const showMailbox = async (work: Work): Promise<MailboxView> => {
  const { sealedPassword, readAt, error, ...mailbox } = await requireMailbox(work)
  return { url: urlOf(mailbox), password: sealedPassword !== null, readAt: readAt?.getTime() ?? null, error }
}

/** Deletes the mailbox and its password. Returns whether there was one. */
export const unsetMailbox = async (work: Work): Promise<boolean> => {
  const [em, { BounceMailbox }] = await entitiesOf(work)
  return (await em.nativeDelete(BounceMailbox, { accountId: work.accountId })) > 0
}

const testMs = 30_000

/**
 * Signs in, opens the folder and counts unread messages, without reading or marking any. Returns a failure of the server as `error`.
 * Throws Problem `not_found` without a mailbox.
 */
export const testMailbox = async (
  app: App,
  accountId: string,
  actor: string,
): Promise<{ ok: true; unread: number } | { ok: false; error: string }> => {
  const access = accessOf(app, accountId, await app.work(accountId, actor, requireMailbox))
  try {
    const unread = await withMailbox(app.resolver, access, AbortSignal.timeout(testMs), (mailbox) => mailbox.unseen())
    return { ok: true, unread: unread.length }
  } catch (error) {
    if (error instanceof MailboxFailure) return { ok: false, error: error.message }
    throw error
  }
}

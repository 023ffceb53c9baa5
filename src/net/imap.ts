import { isIP, type LookupFunction } from 'node:net'
import type { ImapFlow } from 'imapflow'
import { oneLine } from '../lib/strings.ts'
import { isThisMachine } from './dial.ts'
import { failureSentence } from './failure.ts'
import { addressesOf } from './relay-socket.ts'
import type { Resolver } from './resolver.ts'

/** Access to a mailbox on a server that the operator chose: as with a relay, any address is allowed. */
export interface ImapAccess {
  host: string
  port: number
  /** TLS from the first byte (imaps); else STARTTLS, unless the server is on this machine. */
  isSecure: boolean
  username: string
  password: string
  folder: string
}

/** The server refused or did not answer; the message is a sentence for the operator. */
export class MailboxFailure extends Error {}

interface Mailbox {
  /** Returns the UIDs of unread messages, oldest first. */
  unseen(): Promise<number[]>
  /** Returns the first `maxBytes` of a message, which stays unread, or null if the message no longer exists. */
  read(uid: number, maxBytes: number): Promise<Uint8Array | null>
  /** Returns whether the server did so: a folder may be read-only. */
  markSeen(uid: number): Promise<boolean>
}

/** The limit for name look-up, connection and TLS. */
const connectMs = 10_000
const greetingMs = 10_000
/** Longest silence within a session. */
const silenceMs = 30_000
/** Upper bound of an answer to the commands used here. */
const answerBytes = 8 * 1024 * 1024

interface ImapError extends Error {
  code?: string
  responseText?: string
  /** Why the server closed the connection, or what TLS refuses. */
  reason?: string
  authenticationFailed?: boolean
  tlsFailed?: boolean
}

const sentenceOf = (error: ImapError): string => {
  const { code = '', responseText, reason, authenticationFailed, tlsFailed, message } = error
  const said = oneLine(responseText ?? (/^(NoConnection|Closed)/.test(code) ? reason : '') ?? '', 300)
  if (authenticationFailed) return `the server refused the sign-in${said && `: ${said}`}`
  if (said !== '') return `the server answered: ${said}`
  if (/TIMEOUT$/.test(code)) return 'the server did not answer in time'
  if (code === '' && tlsFailed) return oneLine(message, 300)
  return failureSentence(error)
}

const open = async (resolver: Pick<Resolver, 'addresses'>, access: ImapAccess): Promise<ImapFlow> => {
  const { host, port, isSecure, username, password } = access
  const lookup: LookupFunction = (name, { all }, done) => {
    addressesOf(resolver, name, connectMs).then(
      (found) => (all ? done(null, found) : done(null, found[0]!.address, found[0]!.family)),
      (error) => done(error, []),
    )
  }
  // Loaded only in processes that read a mailbox.
  const client = new (await import('imapflow')).ImapFlow({
    host,
    port,
    secure: isSecure,
    ...(isIP(host) === 0 && { servername: host }),
    ...(!isSecure && { doSTARTTLS: !isThisMachine(host) }),
    auth: { user: username, pass: password },
    tls: { lookup },
    connectionTimeout: connectMs,
    greetingTimeout: greetingMs,
    socketTimeout: silenceMs,
    maxLineLength: answerBytes,
    maxLiteralSize: answerBytes,
    maxResponseSize: 2 * answerBytes,
    disableAutoIdle: true,
    disableCompression: true,
    logger: false,
  })
  // An error also fails the running command. Without a listener the event would end the process.
  client.on('error', () => {})
  return client
}

/**
 * Signs in, opens the folder, runs `run` with the mailbox, and signs out. Rejects with MailboxFailure if the server refuses or does
 * not answer; aborting `signal` closes the connection. Errors of `run` itself are passed on unchanged.
 */
export const withMailbox = async <T>(
  resolver: Pick<Resolver, 'addresses'>,
  access: ImapAccess,
  signal: AbortSignal,
  run: (mailbox: Mailbox) => Promise<T>,
): Promise<T> => {
  const client = await open(resolver, access)
  const asked = async <Answer>(command: Promise<Answer>): Promise<Answer> => {
    try {
      const answer = await command
      // ImapFlow answers some commands with false, or with nothing, if the connection has ended.
      if (client.usable) return answer
      throw Object.assign(new Error(), { code: 'NoConnection' })
    } catch (error) {
      throw new MailboxFailure(signal.aborted ? 'the server did not answer in time' : sentenceOf(error as ImapError))
    }
  }
  const cut = () => client.close()
  signal.addEventListener('abort', cut)
  try {
    await asked(client.connect())
    await asked(client.mailboxOpen(access.folder))
    return await run({
      async unseen() {
        const found = await asked(client.search({ seen: false, deleted: false }, { uid: true }))
        if (!found) throw new MailboxFailure('the server refused to search the folder')
        return found
      },
      async read(uid, maxBytes) {
        const query = { source: { maxLength: maxBytes } }
        const found = await asked(client.fetchOne(String(uid), query, { uid: true }))
        return found ? (found.source ?? null) : null
      },
      markSeen: (uid) => asked(client.messageFlagsAdd(String(uid), ['\\Seen'], { uid: true })),
    })
  } finally {
    signal.removeEventListener('abort', cut)
    if (client.usable) await client.logout().catch(() => {})
    client.close()
  }
}

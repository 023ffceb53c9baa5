import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { oneLine } from '../lib/text.ts'
import { encodeMail } from './mime.ts'
import { dialRelay } from './relay-socket.ts'
import type { Resolver } from './resolver.ts'

/** Where mail is handed over. A password that changes makes another relay: it gets connections of its own. */
export interface RelayAccess {
  host: string
  port: number
  /** TLS from the first byte (smtps); else STARTTLS where the relay offers it. Certificates are checked in both. */
  isSecure: boolean
  username: string | null
  password: string | null
}

/** One mail to one recipient. */
export interface Mail {
  from: { name: string; address: string }
  to: string
  replyTo: string | null
  subject: string
  html: string
  text: string
  /** An iCalendar text: goes as a part of its own, and attached as a file. */
  calendar: string | null
  /** With its angle brackets. */
  messageId: string
  date: Date
  /** The envelope sender, to which the relay reports. */
  bounceTo: string
  headers: Record<string, string>
  dkim: { domain: string; selector: string; privateKey: string } | null
}

/**
 * The outcome of one `send`. `refused`: the relay refused the message, `code` is its reply code. `unreached`: the relay
 * said nothing about this message, and no byte of its content was sent. `unknown`: the connection ended after content was
 * sent and before the reply, so the relay may have accepted it. `withdrawn`: `start` said no, or this process is stopping;
 * no byte of the content was sent, and the relay is not to blame.
 */
export type HandOver =
  | { kind: 'accepted'; response: string }
  | { kind: 'refused'; code: number; response: string; ofRecipient: boolean }
  | { kind: 'unreached'; reason: string }
  | { kind: 'unknown'; reason: string }
  | { kind: 'withdrawn' }

export interface SmtpClient {
  /**
   * Sends a message by a pooled connection, at most once. `start` is called once, when a connection takes the message: no
   * byte of the content is sent before it resolves to true. Where it resolves to false the connection is dropped. `start`
   * must not reject. The promise never rejects for anything that the relay does.
   */
  send(relay: RelayAccess, mail: Mail, start: () => Promise<boolean>): Promise<HandOver>
  /** Connects, secures the connection, signs in and disconnects. Returns null on success, else what failed. */
  verify(relay: RelayAccess): Promise<string | null>
  /** From now on no connection takes a message: those that wait for one end as `withdrawn`. Those on a connection go on. */
  drain(): void
  /** As `drain`, and ends all connections: what is on one ends as `unknown`, or as `withdrawn` if no content was sent. */
  close(): void
}

/** Connections to a relay, of this process. */
export const connectionsPerRelay = 5
/** Name look-up and connection: less than a caller of POST /send waits, who is to be told. */
const dialMs = 8000
const greetingMs = 30_000
/** The longest silence in mid-conversation. */
const silenceMs = 120_000
const idleMs = 30_000
/** A pool that has had no mail for so long is let go. */
const forgetMs = 60_000

type Transport = ReturnType<typeof open>

interface SmtpError extends Error {
  code?: string
  responseCode?: number
  response?: string
  command?: string
}

const open = (relay: RelayAccess, resolver: Pick<Resolver, 'addresses'>) => {
  const { host, port, isSecure, username, password } = relay
  const transport = createTransport({
    pool: true,
    host,
    port,
    secure: isSecure,
    ...(username !== null && { auth: { user: username, pass: password ?? '' } }),
    tls: isIP(host) === 0 ? { servername: host } : {},
    maxConnections: connectionsPerRelay,
    // A connection that the relay closed while it was idle costs one repetition, before anything else that waits. The pool
    // repeats only what it has not read from, so no content is sent twice.
    maxRequeues: 1,
    idleTimeout: idleMs,
    connectionTimeout: dialMs,
    greetingTimeout: greetingMs,
    socketTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
    getSocket: (_options: unknown, callback: (error: Error | null, socket?: object) => void) => {
      dialRelay(resolver, host, port, dialMs).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error),
      )
    },
  })
  return transport
}

/** Longest reply or error message that is kept. */
const saidLength = 500
const said = (text: string): string => oneLine(text, saidLength)

const judge = (error: SmtpError, wasRead: boolean): HandOver => {
  const { responseCode, response, command = '' } = error
  if (responseCode !== undefined && responseCode >= 400) {
    const reply = said(response ?? error.message)
    // A reply to the greeting or to the sign-in is about the connection, not about the message.
    if (!/^(MAIL FROM|RCPT TO|DATA)/.test(command))
      return { kind: 'unreached', reason: `The relay refused the connection: ${reply}` }
    return { kind: 'refused', code: responseCode, response: reply, ofRecipient: command === 'RCPT TO' }
  }
  const reason = said(error.message)
  return wasRead ? { kind: 'unknown', reason } : { kind: 'unreached', reason }
}

/** All but the mail itself, which is written when a connection is free for it. */
const optionsOf = (mail: Mail): SendMailOptions => ({
  messageId: mail.messageId,
  envelope: { from: mail.bounceTo, to: [mail.to] },
  headers: {},
  xMailer: false,
  ...(mail.dkim && {
    dkim: {
      domainName: mail.dkim.domain,
      keySelector: mail.dkim.selector,
      privateKey: mail.dkim.privateKey,
      headerFieldNames: signedHeaders,
    },
  }),
})

/** RFC 8058 asks for the signature to cover both headers of the one-click unsubscription. */
const signedHeaders =
  'From:Reply-To:Subject:Date:Message-ID:To:MIME-Version:Content-Type:Content-Transfer-Encoding:List-Unsubscribe:List-Unsubscribe-Post'

/** A message from `send` to its outcome. */
interface Outgoing {
  mail: Mail
  start(): Promise<boolean>
  /** Takes it out of the pool; only until a connection has taken it. */
  abort: AbortController
  /** Set when a connection has taken it. */
  started?: Promise<boolean>
  /** What the connection reads the content from. */
  stream?: Readable
}

interface Pool {
  transport: Transport
  pending: number
  usedAt: number
}

const withdrawn = { kind: 'withdrawn' } as const

/** The content, once `started` resolves to true. It is encoded meanwhile. */
async function* contentOf({ mail, started }: Outgoing): AsyncGenerator<Buffer> {
  const content = encodeMail(mail)
  if (!(await started)) throw new Error('withdrawn')
  yield content
}

/** SMTP to relays by a bounded pool of connections for each, which close when idle. `resolver` looks host names up. */
export const createSmtpClient = (resolver: Pick<Resolver, 'addresses'>): SmtpClient => {
  const pools = new Map<string, Pool>()
  const outgoing = new WeakMap<object, Outgoing>()
  /** Those that no connection has taken yet. */
  const waiting = new Set<Outgoing>()
  let isDraining = false
  let isClosed = false

  const forgetIdle = () => {
    const nowMs = performance.now()
    for (const [key, { transport, pending, usedAt }] of pools) {
      if (pending > 0 || nowMs - usedAt < forgetMs) continue
      pools.delete(key)
      transport.close()
    }
  }

  const poolOf = (relay: RelayAccess): Pool => {
    const key = JSON.stringify(relay)
    if (!pools.has(key)) forgetIdle()
    return pools.getOrInsertComputed(key, () => {
      const transport = open(relay, resolver)
      transport.use('stream', ({ data, message }, done) => {
        const sent = outgoing.get(data.headers as object)!
        const create = message.createReadStream.bind(message)
        // The pool calls this when a connection that is signed in takes the message, and once more after a stale connection.
        // The dialogue up to DATA goes on while `start` is under way.
        message.createReadStream = (...args) => {
          waiting.delete(sent)
          sent.started ??= sent.start()
          message.setRaw(Readable.from(contentOf(sent), { objectMode: false }))
          const stream = create(...args)
          sent.stream = stream as unknown as Readable
          return stream
        }
        done()
      })
      return { transport, pending: 0, usedAt: 0 }
    })
  }

  const attempt = async (pool: Pool, sent: Outgoing): Promise<HandOver> => {
    const options = { ...optionsOf(sent.mail), signal: sent.abort.signal }
    outgoing.set(options.headers as object, sent)
    try {
      const { response } = await pool.transport.sendMail(options)
      return { kind: 'accepted', response: said(response) }
    } catch (error) {
      // A refusal can come before the answer of `start`, which decides whose message it is.
      if (!((await sent.started) ?? true)) return withdrawn
      const wasRead = sent.stream?.readableDidRead === true
      const outcome = judge(error as SmtpError, wasRead)
      const isOurs = outcome.kind === 'unreached' && (isClosed || (isDraining && !sent.started))
      return isOurs ? withdrawn : outcome
    }
  }

  const drain = () => {
    isDraining = true
    for (const { abort } of waiting) abort.abort()
  }

  return {
    async send(relay, mail, start) {
      if (isDraining) return withdrawn
      const pool = poolOf(relay)
      const sent: Outgoing = { mail, start, abort: new AbortController() }
      pool.pending++
      waiting.add(sent)
      try {
        return await attempt(pool, sent)
      } finally {
        waiting.delete(sent)
        pool.pending--
        pool.usedAt = performance.now()
      }
    },
    async verify(relay) {
      const transport = open(relay, resolver)
      try {
        await transport.verify()
        return null
      } catch (error) {
        const { response, message } = error as SmtpError
        return said(response ? `The relay answered ${response}` : message)
      } finally {
        transport.close()
      }
    },
    drain,
    close() {
      drain()
      isClosed = true
      for (const { transport } of pools.values()) transport.close({ force: true } as never)
      pools.clear()
    },
  }
}

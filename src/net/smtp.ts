import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { createTransport, type SendMailOptions } from 'nodemailer'
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
 * What became of a hand-over. `refused`: the relay said no, `code` is its answer. `unreached`: it did not come to a word
 * about this mail, and nothing of it left. `unknown`: the connection was lost when the relay may have had it all.
 */
export type HandOver =
  | { kind: 'accepted'; response: string }
  | { kind: 'refused'; code: number; response: string; ofRecipient: boolean }
  | { kind: 'unreached'; reason: string }
  | { kind: 'unknown'; reason: string }

export interface SmtpClient {
  /** Hands a mail over by a pooled connection. Never rejects for what the relay does; once at most, whatever happens. */
  send(relay: RelayAccess, mail: Mail): Promise<HandOver>
  /** Greets the relay, secures the connection and signs in, and goes again. null: all went well; else what did not. */
  verify(relay: RelayAccess): Promise<string | null>
  /** Ends all connections; what is under way ends as `unreached` or `unknown`. */
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
    // What is sent again is decided here, where it is known whether anything of the mail had left.
    maxRequeues: 0,
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

/** Whether any of the mail was read for the wire. */
const wasRead = (stream: Readable | undefined): boolean => stream?.readableDidRead === true

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 500)

const judge = (error: SmtpError, stream: Readable | undefined): HandOver => {
  const { responseCode, response, command = '' } = error
  if (responseCode !== undefined && responseCode >= 400) {
    const said = oneLine(response ?? error.message)
    // Of the connection, not of the mail: an answer to the greeting or to the sign-in.
    if (!/^(MAIL FROM|RCPT TO|DATA)/.test(command))
      return { kind: 'unreached', reason: `The relay refused the connection: ${said}` }
    return { kind: 'refused', code: responseCode, response: said, ofRecipient: command === 'RCPT TO' }
  }
  const reason = oneLine(error.message)
  return wasRead(stream) ? { kind: 'unknown', reason } : { kind: 'unreached', reason }
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

/** A mail on its way, and the stream that a connection reads it from. */
interface Outgoing {
  mail: Mail
  stream?: Readable
}

interface Pool {
  transport: Transport
  pending: number
  usedAt: number
}

/** SMTP to relays, by a bounded pool of connections for each that closes when idle. Names are asked at `resolver`. */
export const createSmtpClient = (resolver: Pick<Resolver, 'addresses'>): SmtpClient => {
  const pools = new Map<string, Pool>()
  const outgoing = new WeakMap<object, Outgoing>()
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
      // The stream that a connection reads from tells later whether anything of it had left.
      transport.use('stream', ({ data, message }, done) => {
        const sent = outgoing.get(data.headers as object)!
        const create = message.createReadStream.bind(message)
        message.createReadStream = (...args) => {
          message.setRaw(encodeMail(sent.mail))
          const stream = create(...args)
          sent.stream = stream as unknown as Readable
          return stream
        }
        done()
      })
      return { transport, pending: 0, usedAt: 0 }
    })
  }

  const attempt = async (pool: Pool, mail: Mail): Promise<HandOver> => {
    const options = optionsOf(mail)
    const sent: Outgoing = { mail }
    outgoing.set(options.headers as object, sent)
    try {
      const { response } = await pool.transport.sendMail(options)
      return { kind: 'accepted', response: oneLine(response) }
    } catch (error) {
      return judge(error as SmtpError, sent.stream)
    }
  }

  return {
    async send(relay, mail) {
      if (isClosed) return { kind: 'unreached', reason: 'The process is stopping' }
      const pool = poolOf(relay)
      pool.pending++
      try {
        const wasUsed = pool.usedAt > 0
        const outcome = await attempt(pool, mail)
        // A connection that was kept may have been ended by the relay meanwhile: nothing left, so it goes by a fresh one.
        const isStale = wasUsed && outcome.kind === 'unreached' && /clos|ECONNRESET|EPIPE/i.test(outcome.reason)
        return isStale && !isClosed ? await attempt(pool, mail) : outcome
      } finally {
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
        return oneLine(response ? `The relay answered ${response}` : message)
      } finally {
        transport.close()
      }
    },
    close() {
      isClosed = true
      for (const { transport } of pools.values()) transport.close({ force: true } as never)
      pools.clear()
    },
  }
}

import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { createTransport, type SendMailOptions } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { oneLine } from '../lib/strings.ts'
import { isThisMachine } from './dial.ts'
import { sentenceOfCode } from './failure.ts'
import { speedUpStreams } from './mail-streams.ts'
import { encodeMail, encodeParts, type Mail } from './mime.ts'
import { dialSmtp } from './relay-socket.ts'
import type { Resolver } from './resolver.ts'

/** Access to a relay. Connections are pooled by all of these values: a changed password opens new connections. */
export interface RelayAccess {
  host: string
  port: number
  /** TLS from the first byte (smtps); otherwise STARTTLS if the relay offers it. Certificates are checked in both cases. */
  isSecure: boolean
  /** Whether the password may be sent without TLS. A relay on this machine gets it in any case. */
  isTlsOptional: boolean
  username: string | null
  password: string | null
}

/**
 * The outcome of one `send`. A message is `refused` if the relay refused it; `code` is its reply code. It is `unreached` if the
 * relay did not reply to it, and no byte of its content was sent. It is `unknown` if the connection ended after content was sent
 * and before the reply, so the relay may have accepted it. It is `withdrawn` if `start` returned false, or this process is
 * stopping; no byte of its content was sent, and the cause is not the relay.
 */
export type SendOutcome =
  | { kind: 'accepted'; response: string }
  | { kind: 'refused'; code: number; response: string; ofRecipient: boolean }
  | { kind: 'unreached'; reason: string }
  | { kind: 'unknown'; reason: string }
  | { kind: 'withdrawn' }

/**
 * The result of signing in. `fault` is the error; it is null on success. `tls` is the version and the cipher; it is null for a
 * connection without TLS.
 */
export interface Verified {
  fault: string | null
  tls: string | null
}

export interface SmtpClient {
  /**
   * Sends a message on a pooled connection, at most once. `start` is called once, when a connection takes the message: no byte of
   * the content is sent before it resolves to true. If it resolves to false the connection is dropped. `start` must not reject.
   * The promise never rejects, whatever the relay does.
   */
  send(relay: RelayAccess, mail: Mail, start: () => Promise<boolean>): Promise<SendOutcome>
  /** Connects, secures the connection, signs in and disconnects. */
  verify(relay: RelayAccess): Promise<Verified>
  /** Stops taking messages: those that wait for a connection end as `withdrawn`, those on a connection continue. */
  drain(): void
  /** Drains, and ends all connections: a message on one ends as `unknown`, or as `withdrawn` if no content was sent. */
  close(): void
}

/** Connections of this process to one relay. */
const connectionsPerRelay = 5
/** Limit for look-up and connection: less than a caller of POST /send waits, so that the caller gets the error. */
const dialMs = 8000
const greetingMs = 30_000
/** Longest silence within a session. */
const silenceMs = 120_000
const idleMs = 30_000
/** A pool without messages for this long is closed. */
const forgetMs = 60_000

speedUpStreams()

type Transport = ReturnType<typeof open>

interface SmtpError extends Error {
  code?: string
  /** The code of the error that nodemailer wraps. */
  originalCode?: string
  timeoutType?: string
  responseCode?: number
  response?: string
  command?: string
}

const connectionOptions = ({ host, port, isSecure, isTlsOptional, password }: RelayAccess) => ({
  host,
  port,
  secure: isSecure,
  requireTLS: needsTls({ host, isSecure, isTlsOptional, password }),
  tls: isIP(host) === 0 ? { servername: host } : {},
  connectionTimeout: dialMs,
  greetingTimeout: greetingMs,
  socketTimeout: silenceMs,
  logger: false as const,
})

const needsTls = ({ host, isSecure, isTlsOptional, password }: Omit<RelayAccess, 'port' | 'username'>): boolean =>
  password !== null && !isSecure && !isTlsOptional && !isThisMachine(host)

const open = (relay: RelayAccess, resolver: Pick<Resolver, 'addresses'>) => {
  const { username, password } = relay
  const transport = createTransport({
    pool: true,
    ...connectionOptions(relay),
    // nodemailer's limit covers the greeting too. A relay that takes a connection and is slow to greet has given no verdict yet.
    connectionTimeout: dialMs + greetingMs,
    ...(username !== null && { auth: { user: username, pass: password ?? '' } }),
    maxConnections: connectionsPerRelay,
    // A connection that the relay closed while it was idle costs one repetition, ahead of waiting messages. The pool repeats only
    // messages whose content it has not read, so no content is sent twice.
    maxRequeues: 1,
    idleTimeout: idleMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (_options: unknown, callback: (error: Error | null, socket?: object) => void) => {
      dialSmtp(resolver, relay, dialMs).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error),
      )
    },
  })
  return transport
}

/** Signs in on a connection of its own. Returns the version and cipher of its TLS, or null without TLS. */
const greet = async (relay: RelayAccess, resolver: Pick<Resolver, 'addresses'>): Promise<string | null> => {
  const { username, password } = relay
  const socket = await dialSmtp(resolver, relay, dialMs)
  const connection = new SMTPConnection({ ...connectionOptions(relay), connection: socket })
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject)
      connection.once('end', () => reject(new Error('Connection closed')))
      connection.connect((error) => {
        if (error) return reject(error)
        if (username === null || !connection.allowsAuth) return resolve()
        connection.login({ credentials: { user: username, pass: password ?? '' } }, (refused) =>
          refused ? reject(refused) : resolve(),
        )
      })
    })
    const used = connection._socket
    return used instanceof TLSSocket ? `${used.getProtocol()} ${used.getCipher().name}` : null
  } finally {
    connection.on('error', () => {})
    connection.quit()
    connection.close()
    socket.destroy()
  }
}

/** Longest reply or error message that is stored. */
const saidLength = 500
const said = (text: string): string => oneLine(text, saidLength)

/** Whether the relay refused STARTTLS. */
const isWithoutTls = ({ code, command, responseCode }: SmtpError): boolean =>
  code === 'ETLS' && command === 'STARTTLS' && responseCode !== undefined

const withoutTls =
  'The relay does not offer TLS, and its password is not sent without: use smtps://, or add ?tls=optional to its URL'

/** Advice for certificates and handshakes that failed, by error code. */
const advice: [RegExp, string][] = [
  [/SELF_SIGNED|^UNABLE_TO_/, ': no known authority signed it; SVC_CA_FILE names a private one'],
  [/ALTNAME/, ': it is for another host name'],
  [/WRONG_VERSION_NUMBER/, ': if the relay does not begin with TLS, use smtp:// for it'],
]

/** Returns a sentence for the error that ended a connection, without OpenSSL's text and Node's advice. */
const faultOf = ({ code, originalCode = code ?? '', timeoutType, message }: SmtpError): string => {
  const known = timeoutType === undefined && sentenceOfCode(originalCode)
  return known ? known + (advice.find(([pattern]) => pattern.test(originalCode))?.[1] ?? '') : said(message)
}

const outcomeOf = (error: SmtpError, wasRead: boolean): SendOutcome => {
  const { responseCode, response, command = '' } = error
  if (isWithoutTls(error)) return { kind: 'unreached', reason: withoutTls }
  if (responseCode !== undefined && responseCode >= 400) {
    const reply = said(response ?? error.message)
    // Replies at the greeting or the sign-in concern the connection, not the message.
    if (!/^(MAIL FROM|RCPT TO|DATA)/.test(command))
      return { kind: 'unreached', reason: `The relay refused the connection: ${reply}` }
    return { kind: 'refused', code: responseCode, response: reply, ofRecipient: command === 'RCPT TO' }
  }
  const reason = faultOf(error)
  return wasRead ? { kind: 'unknown', reason } : { kind: 'unreached', reason }
}

/** Returns all options except the content, which is written when a connection takes the message. */
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
  'From:Reply-To:Subject:Date:Message-ID:In-Reply-To:References:To:Cc:MIME-Version:Content-Type:Content-Transfer-Encoding:List-Unsubscribe:List-Unsubscribe-Post'

/** A message between `send` and its outcome. */
interface Outgoing {
  mail: Mail
  start(): Promise<boolean>
  /** Removes the message from the pool, until a connection has taken it. */
  abort: AbortController
  /** It is set when a connection has taken the message. */
  started?: Promise<boolean>
  /** The stream from which the connection reads the content. */
  stream?: Readable
}

interface Pool {
  transport: Transport
  pending: number
  usedAt: number
}

const withdrawn = { kind: 'withdrawn' } as const

const notStarted = () => new Error('withdrawn')

/** Yields the content once `started` resolves to true, after `start` has loaded the attachments. */
async function* piecesOf({ mail, started }: Outgoing): AsyncGenerator<Buffer> {
  if (!(await started)) throw notStarted()
  for (const piece of encodeParts(mail)) {
    yield piece
    await setImmediate()
  }
}

/** Returns a stream of the content, which gives nothing until `started` resolves to true. */
const contentOf = (sent: Outgoing): Readable => {
  if (sent.mail.attachments) return Readable.from(piecesOf(sent), { objectMode: false })
  return new Readable({
    read() {
      // It is encoded meanwhile.
      const encoded = encodeMail(sent.mail)
      void sent.started!.then((isOurs) => {
        if (!isOurs) return this.destroy(notStarted())
        this.push(encoded)
        this.push(null)
      })
    },
  })
}

/** Returns an SMTP client with a bounded pool of connections for each relay, which close when idle. */
export const createSmtpClient = (resolver: Pick<Resolver, 'addresses'>): SmtpClient => {
  const pools = new Map<string, Pool>()
  const outgoing = new WeakMap<object, Outgoing>()
  /** Messages that no connection has taken yet. */
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
        // The pool calls this when a signed-in connection takes the message, and once more after a stale connection. The dialogue
        // up to DATA continues while `start` runs.
        message.createReadStream = (...args) => {
          waiting.delete(sent)
          sent.started ??= sent.start()
          const content = contentOf(sent)
          if (sent.mail.dkim) {
            // Only what is signed needs nodemailer's own streams.
            message.setRaw(content)
            // A stream of Node, which nodemailer's types describe by less.
            sent.stream = create(...args) as unknown as Readable
          } else sent.stream = content
          return sent.stream
        }
        done()
      })
      return { transport, pending: 0, usedAt: 0 }
    })
  }

  const attempt = async (pool: Pool, sent: Outgoing): Promise<SendOutcome> => {
    const options = { ...optionsOf(sent.mail), signal: sent.abort.signal }
    outgoing.set(options.headers as object, sent)
    try {
      const { response } = await pool.transport.sendMail(options)
      return { kind: 'accepted', response: said(response) }
    } catch (error) {
      // A refusal can arrive before `start` resolves; if that is false, another worker owns the message.
      if (!((await sent.started) ?? true)) return withdrawn
      const wasRead = sent.stream?.readableDidRead === true
      const outcome = outcomeOf(error as SmtpError, wasRead)
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
      try {
        return { fault: null, tls: await greet(relay, resolver) }
      } catch (error) {
        const { response } = error as SmtpError
        const fault = isWithoutTls(error as SmtpError)
          ? withoutTls
          : response
            ? said(`The relay answered ${response}`)
            : faultOf(error as SmtpError)
        return { fault, tls: null }
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

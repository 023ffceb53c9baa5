import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { certificate, certificateKey } from './certificate.ts'
import { opened } from './fixture.ts'
import { inTest } from './scope.ts'
import { waitLimitMs } from './slowness.ts'

export interface SunkMail {
  from: string
  to: string[]
  /** As received, with its headers. */
  raw: string
  /** A header's value, unfolded; undefined if it is missing. */
  header(name: string): string | undefined
  user: string | null
  isSecure: boolean
  /** Its number in the order in which messages began to arrive. A delay can let a later one be accepted first. */
  begun: number
}

/** What the sink does with a message. */
export interface Conduct {
  /** The delay before the answer to the end of the data. */
  delayMs?: number
  /** The end of the data is not answered before. */
  until?: Promise<unknown>
  /** Messages of more than 1 MB are not answered before. */
  largeUntil?: Promise<unknown>
  /** Refuses at this point with this answer, such as `550 5.1.1 No such user`. */
  refuse?: { at: 'connect' | 'from' | 'to' | 'data'; answer: string }
  /** Does not answer any more from this point. */
  hang?: 'connect' | 'to' | 'data'
  /** Closes the connection: in the middle of the data, or after all data and before the answer. */
  drop?: 'mid-data' | 'before-answer'
}

export interface Sink {
  port: number
  url: string
  /** The accepted messages, in the order of their acceptance. */
  mails: SunkMail[]
  /** The number of messages of which at least one byte has arrived. */
  begun: number
  /** The number of received passwords. */
  readonly signIns: number
  /** Connections that are open. */
  readonly open: number
  always(conduct: Conduct): void
  next(...conducts: Conduct[]): void
  arrived(count: number, limitMs?: number): Promise<SunkMail[]>
  close(): Promise<void>
}

interface SinkOptions {
  port?: number
  user?: { name: string; password: string }
  tls?: 'none' | 'starttls' | 'smtps'
}

const answerOf = (answer: string): Error => {
  const [code, ...words] = answer.split(' ')
  return Object.assign(new Error(words.join(' ')), { responseCode: Number(code) })
}

const headerOf = (raw: string, name: string): string | undefined => {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
  const line = head.split('\r\n').find((text) => text.toLowerCase().startsWith(`${name.toLowerCase()}:`))
  return line?.slice(name.length + 1).trim()
}

const never = () => new Promise<never>(() => {})

/** A real SMTP server on a loopback port that behaves as configured. */
export const openSink = async ({ port = 0, user, tls = 'none' }: SinkOptions = {}): Promise<Sink> => {
  const mails: SunkMail[] = []
  const queue: Conduct[] = []
  const sockets = new Set<{ destroy(): void }>()
  let standing: Conduct = {}
  let begun = 0
  let signIns = 0
  const conducts = new WeakMap<object, Conduct>()
  const conductOf = (session: object): Conduct => {
    const known = conducts.get(session) ?? queue.shift() ?? standing
    conducts.set(session, known)
    return known
  }
  const refusalAt = (session: object, at: NonNullable<Conduct['refuse']>['at']) => {
    const { refuse } = conductOf(session)
    return refuse?.at === at ? answerOf(refuse.answer) : null
  }

  const options: SMTPServerOptions = {
    secure: tls === 'smtps',
    ...(tls !== 'none' && { key: certificateKey, cert: certificate }),
    disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(user ? [] : ['AUTH'])],
    authOptional: !user,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    size: 0,
    async onConnect(session, done) {
      const conduct = queue[0] ?? standing
      if (conduct.hang === 'connect') await never()
      if (conduct.refuse?.at === 'connect') {
        queue.shift()
        return done(answerOf(conduct.refuse.answer))
      }
      void session
      done()
    },
    onAuth(auth, _session, done) {
      signIns++
      if (auth.username === user?.name && auth.password === user?.password) return done(null, { user: auth.username })
      done(answerOf('535 5.7.8 Authentication failed'))
    },
    onMailFrom(_address, session, done) {
      conducts.delete(session)
      done(refusalAt(session, 'from'))
    },
    async onRcptTo(_address, session, done) {
      if (conductOf(session).hang === 'to') await never()
      done(refusalAt(session, 'to'))
    },
    onData(stream, session, done) {
      const conduct = conductOf(session)
      const chunks: Buffer[] = []
      let place = 0
      const cut = () => {
        for (const socket of sockets) socket.destroy()
      }
      stream.on('data', (chunk: Buffer) => {
        if (chunks.length === 0) place = ++begun
        chunks.push(chunk)
        if (conduct.drop === 'mid-data') cut()
      })
      stream.on('end', async () => {
        if (conduct.drop === 'before-answer') return cut()
        if (conduct.hang === 'data') await never()
        await sleep(conduct.delayMs ?? 0)
        await conduct.until
        if (chunks.reduce((sum, { length }) => sum + length, 0) > 2 ** 20) await conduct.largeUntil
        const refusal = refusalAt(session, 'data')
        if (refusal) return done(refusal)
        const raw = Buffer.concat(chunks).toString()
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          raw,
          header: (name) => headerOf(raw, name),
          user: session.user ?? null,
          isSecure: session.secure,
          begun: place,
        })
        done()
      })
    },
  }
  const server = new SMTPServer(options)
  server.on('error', () => {})
  server.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const taken = (server.server.address() as { port: number }).port
  return {
    port: taken,
    url: `${tls === 'smtps' ? 'smtps' : 'smtp'}://127.0.0.1:${taken}`,
    mails,
    get begun() {
      return begun
    },
    get signIns() {
      return signIns
    },
    get open() {
      return sockets.size
    },
    always: (conduct) => {
      standing = conduct
    },
    next: (...more) => void queue.push(...more),
    async arrived(count, limitMs = waitLimitMs) {
      for (const deadline = performance.now() + limitMs; mails.length < count; await inTest(sleep(10))) {
        if (performance.now() > deadline) throw new Error(`${mails.length} of ${count} mails after ${limitMs} ms`)
      }
      return mails
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** A relay that answers RCPT TO with these bytes, which the sink's library would not send. */
export const openRawRelay = async (reply: Buffer): Promise<{ url: string; close(): Promise<void> }> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.write('220 raw\r\n')
    socket.on('data', (chunk) => {
      const command = chunk.toString('latin1').slice(0, 4)
      socket.write(command === 'RCPT' ? Buffer.concat([reply, Buffer.from('\r\n')]) : '250 ok\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** `openSink` for the tests of this file or `describe`. */
export const useSink = (options: SinkOptions = {}): Sink => opened(() => openSink(options))

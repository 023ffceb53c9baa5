import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { catcherFile, mailFolder } from '../../app/config.ts'
import { makeInside, writeInside } from '../../embedded/folder.ts'
import { newId } from '../../lib/ids.ts'
import { readMode, setMode, takeMode } from './catcher.mode.ts'
import type { CaughtMail } from './catcher.read.ts'

export { type MailMode, type MailSetting, mailModes, readMode, setMode } from './catcher.mode.ts'
export {
  attachmentBytes,
  attachmentName,
  type CaughtMail,
  detailOf,
  type MailDetail,
  type MailView,
  parseMail,
  viewOf,
} from './catcher.read.ts'

/** The catcher keeps the newest emails and deletes older ones. */
export const keptMails = 1000
/** How often the setting is checked while messages are held. */
const lookMs = 100

export interface Catcher {
  /** The address of the catcher, for SVC_SMTP_URL. */
  url: string
  /** Returns how many received messages wait for an answer. */
  held(): number
  /** Accepts all messages again, including held ones, so that no sender waits when the catcher closes. */
  release(): void
  close(): Promise<void>
}

const fileOf = (dataDir: string, id: string) => join(mailFolder(dataDir), `${id}.json`)

/** Returns the ids of caught emails, oldest first. */
export const caughtIds = (dataDir: string): string[] => {
  try {
    return readdirSync(mailFolder(dataDir))
      .flatMap((name) => /^(msg_[0-9a-z]+)\.json$/.exec(name)?.[1] ?? [])
      .sort()
  } catch {
    return []
  }
}

/** Returns a caught email, or null if there is none of that id. */
export const readCaught = (dataDir: string, id: string): CaughtMail | null => {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir, id), 'utf8'))
  } catch {
    return null
  }
}

export const removeCaught = (dataDir: string, ids: readonly string[]): void => {
  for (const id of ids) rmSync(fileOf(dataDir, id), { force: true })
}

/** Writes an email atomically, so that readers of the folder never see a part of it. */
const keep = (dataDir: string, mail: CaughtMail): void => {
  writeInside(fileOf(dataDir, mail.id), JSON.stringify(mail))
  removeCaught(dataDir, caughtIds(dataDir).slice(0, -keptMails))
}

const refusals = {
  // Not 5.1.x: a recipient that does not exist would be suppressed.
  refuse: { responseCode: 550, message: '5.7.1 Refused by the mail catcher; svc mail mode accept ends this' },
  defer: { responseCode: 451, message: '4.7.1 Deferred by the mail catcher; svc mail mode accept ends this' },
}

type Done = (error?: Error | null) => void

/** A message whose sender waits for an answer. */
interface HeldMail {
  mail: CaughtMail
  done: Done
  /** The setting that holds it. */
  settingId: string
}

/** Answers received messages by the current setting. In mode `hang` they are held, by connection, until the setting changes. */
const createResponder = (dataDir: string) => {
  const held = new Map<string, HeldMail>()
  let watching: NodeJS.Timeout | undefined

  const respond = (connectionId: string, mail: CaughtMail, done: Done): void => {
    held.delete(connectionId)
    const { id, mode } = takeMode(dataDir)
    if (mode === 'hang') {
      held.set(connectionId, { mail, done, settingId: id })
      watching ??= setInterval(look, lookMs)
    } else if (mode === 'accept') {
      keep(dataDir, mail)
      done()
    } else {
      const { message, responseCode } = refusals[mode]
      done(Object.assign(new Error(message), { responseCode }))
    }
  }

  const look = () => {
    const { id } = readMode(dataDir)
    for (const [connectionId, { mail, done, settingId }] of held)
      if (settingId !== id) respond(connectionId, mail, done)
    if (held.size > 0) return
    clearInterval(watching)
    watching = undefined
  }

  return {
    respond,
    /** Drops the held message of a closed connection: its sender gave up, so it is not caught either. */
    forget: (connectionId: string) => void held.delete(connectionId),
    held: () => held.size,
    release() {
      setMode(dataDir, 'accept', null)
      look()
    },
    close: () => clearInterval(watching),
  }
}

/** Returns a caught email by its id, or the newest one of a send by the send's id or its end, which its Message-ID has. */
export const findCaught = (dataDir: string, id: string): CaughtMail | null => {
  const end = id.replace(/^…/, '')
  if (!/^(msg_[0-9a-z]+|[0-9a-z]{6,})$/.test(end)) return null
  const caught = readCaught(dataDir, end)
  if (caught) return caught
  for (const other of caughtIds(dataDir).reverse()) {
    const mail = readCaught(dataDir, other)
    const [header = ''] = mail?.raw.split('\r\n\r\n', 1) ?? []
    const headers = header.split(/\r\n(?![ \t])/)
    if (headers.some((line) => /^message-id:/i.test(line) && line.includes(`${end}@`))) return mail
  }
  return null
}

/**
 * Opens the mail catcher of `svc dev`: an SMTP server on this machine that accepts all messages and forwards none, or
 * refuses, defers or holds them, by its mode. The data folder has the caught emails and the address, for commands. Rejects
 * with EADDRINUSE if the port is taken.
 */
export const openCatcher = async (port: number, dataDir: string, now: () => Date): Promise<Catcher> => {
  makeInside(mailFolder(dataDir))
  // A mode does not outlive the process that used it.
  setMode(dataDir, 'accept', null)
  const responder = createResponder(dataDir)
  // Loaded here: completion and the commands of caught email need only the rest of this file.
  const { SMTPServer } = await import('smtp-server')
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 500,
    onAuth: (_auth, _session, done) => done(null, { user: 'anyone' }),
    onData(stream, { id: connectionId, envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const at = now().getTime()
        const { mailFrom, rcptTo } = envelope
        const to = rcptTo.map(({ address }) => address)
        const raw = Buffer.concat(chunks).toString()
        // The system's time: ids sort by arrival, also after a reset of the clock that `at` shows.
        const id = newId('msg', Date.now())
        const mail = { id, from: mailFrom ? mailFrom.address : '', to, at, raw }
        responder.respond(connectionId, mail, done)
      })
    },
    onClose({ id }, done) {
      responder.forget(id)
      done()
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  server.on('error', () => {})
  const url = `smtp://127.0.0.1:${(server.server.address() as { port: number }).port}`
  writeInside(catcherFile(dataDir), `${url}\n${process.pid}\n`)
  return {
    url,
    held: responder.held,
    release: responder.release,
    close: () =>
      new Promise((resolve) => {
        rmSync(catcherFile(dataDir), { force: true })
        responder.close()
        server.close(() => resolve())
      }),
  }
}

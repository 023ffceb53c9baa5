import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { newId } from '../lib/ids.ts'
import { makeInside, writeInside } from '../store/folder.ts'
import { catcherFile, mailFolder } from './config.ts'
import { readMode, setMode, takeMode } from './dev.mail.mode.ts'

/** The catcher keeps the newest; older ones go. */
const keptMails = 1000
/** How soon held mail follows a changed setting. */
const lookMs = 100

export interface Catcher {
  /** Where mail is caught, as SVC_SMTP_URL takes it. */
  url: string
  /** How many mails came and wait for an answer. */
  held(): number
  /** Takes all mail again, what is held first: nobody waits for the end of a catcher. */
  release(): void
  close(): Promise<void>
}

/** A mail as it was caught: a file of its folder, named by its id, which sorts by time. */
export interface CaughtMail {
  id: string
  from: string
  to: string[]
  /** epoch ms */
  at: number
  raw: string
}

const fileOf = (dataDir: string, id: string) => join(mailFolder(dataDir), `${id}.json`)

/** The ids of what was caught, oldest first. */
export const caughtIds = (dataDir: string): string[] => {
  try {
    return readdirSync(mailFolder(dataDir))
      .flatMap((name) => /^(msg_[0-9a-z]+)\.json$/.exec(name)?.[1] ?? [])
      .sort()
  } catch {
    return []
  }
}

/** null where there is none of that id (any more). */
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

/** Whole or not at all: who lists the folder never reads half a mail. */
const keep = (dataDir: string, mail: CaughtMail): void => {
  writeInside(dataDir, fileOf(dataDir, mail.id), JSON.stringify(mail))
  removeCaught(dataDir, caughtIds(dataDir).slice(0, -keptMails))
}

const refusals = {
  // Not 5.1.x: a recipient that does not exist would be suppressed.
  refuse: { responseCode: 550, message: '5.7.1 Refused by the mail catcher: svc mail mode accept takes mail again' },
  defer: { responseCode: 451, message: '4.7.1 Deferred by the mail catcher: svc mail mode accept takes mail again' },
}

type Done = (error?: Error | null) => void

/** Mail whose sender waits for an answer, by the connection that it came on. */
interface HeldMail {
  mail: CaughtMail
  done: Done
  /** Of the setting that holds it. */
  settingId: string
}

/** Decides what becomes of mail that has come whole, by the setting of the moment; what hangs is held until another one. */
const createJudge = (dataDir: string) => {
  const held = new Map<string, HeldMail>()
  let watching: NodeJS.Timeout | undefined

  const judge = (connectionId: string, mail: CaughtMail, done: Done): void => {
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
    for (const [connectionId, { mail, done, settingId }] of held) if (settingId !== id) judge(connectionId, mail, done)
    if (held.size > 0) return
    clearInterval(watching)
    watching = undefined
  }

  return {
    judge,
    /** Its sender has given up: it counts the mail as lost, so it is not caught either. */
    forget: (connectionId: string) => void held.delete(connectionId),
    held: () => held.size,
    release() {
      setMode(dataDir, 'accept', null)
      look()
    },
    close: () => clearInterval(watching),
  }
}

/**
 * The mail catcher of `svc dev`: an SMTP server on this machine that takes all mail and lets none out, or refuses, defers or
 * hangs where it is set to. What it caught is kept in the data folder, and where it listens, for the commands beside it.
 * Rejects with EADDRINUSE for a taken port.
 */
export const openCatcher = async (port: number, dataDir: string, now: () => Date): Promise<Catcher> => {
  makeInside(dataDir, mailFolder(dataDir))
  // What was tried out yesterday surprises nobody today.
  setMode(dataDir, 'accept', null)
  const judge = createJudge(dataDir)
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
        const mail = { id: newId('msg', at), from: mailFrom ? mailFrom.address : '', to, at, raw }
        judge.judge(connectionId, mail, done)
      })
    },
    onClose({ id }, done) {
      judge.forget(id)
      done()
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  server.on('error', () => {})
  const url = `smtp://127.0.0.1:${(server.server.address() as { port: number }).port}`
  writeInside(dataDir, catcherFile(dataDir), `${url}\n${process.pid}\n`)
  return {
    url,
    held: judge.held,
    release: judge.release,
    close: () =>
      new Promise((resolve) => {
        rmSync(catcherFile(dataDir), { force: true })
        judge.close()
        server.close(() => resolve())
      }),
  }
}

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { newId } from '../lib/ids.ts'
import { catcherFile, mailFolder } from './config.ts'

/** The catcher keeps the newest; older ones go. */
const keptMails = 1000

export interface Catcher {
  /** Where mail is caught, as SVC_SMTP_URL takes it. */
  url: string
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
  const file = fileOf(dataDir, mail.id)
  writeFileSync(`${file}.part`, JSON.stringify(mail), { mode: 0o600 })
  renameSync(`${file}.part`, file)
  removeCaught(dataDir, caughtIds(dataDir).slice(0, -keptMails))
}

/**
 * The mail catcher of `svc dev`: an SMTP server on this machine that takes all mail and lets none out. What it caught is kept
 * in the data folder, and where it listens, for the commands beside it. Rejects with EADDRINUSE for a taken port.
 */
export const openCatcher = async (port: number, dataDir: string, now: () => Date): Promise<Catcher> => {
  mkdirSync(mailFolder(dataDir), { recursive: true })
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 500,
    onAuth: (_auth, _session, done) => done(null, { user: 'anyone' }),
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const at = now().getTime()
        const { mailFrom, rcptTo } = envelope
        const to = rcptTo.map(({ address }) => address)
        const raw = Buffer.concat(chunks).toString()
        keep(dataDir, { id: newId('msg', at), from: mailFrom ? mailFrom.address : '', to, at, raw })
        done()
      })
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  server.on('error', () => {})
  const url = `smtp://127.0.0.1:${(server.server.address() as { port: number }).port}`
  writeFileSync(catcherFile(dataDir), `${url}\n`)
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        rmSync(catcherFile(dataDir), { force: true })
        server.close(() => resolve())
      }),
  }
}

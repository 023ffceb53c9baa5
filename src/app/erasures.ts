import { createHmac, hkdfSync } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { Problem } from '../lib/problem.ts'
import { secretFingerprint } from '../lib/secrets.ts'
import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'
import type { Config } from './config.ts'

/*
 * The list of erasures: whom the installation has erased, and when, as keyed hashes. A backup has people who were erased after it was
 * written; its restore erases them again. The list is a file beside the database, so neither a restore nor `svc db reset` touches it.
 */

type Keeper = Pick<Config, 'erasuresFile' | 'secret'>

/** Identifies the secret of a line. */
const markOf = (secret: string): string => secretFingerprint(secret).slice(0, 16)

/** Returns how an erasure of these addresses stands in the list. */
export const hasherOf = (secret: string): ((accountId: string, email: string) => string) => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'svc erasures v1', 32))
  return (accountId, email) => createHmac('sha256', key).update(`${accountId} ${email}`).digest('hex')
}

/** Adds to the list, which only this user can read. Throws Problem `configuration` if it can't be written. */
const append = (file: string, text: string, begin: string, hint: string): void => {
  try {
    appendFileSync(file, text, { mode: 0o600, flush: true })
  } catch (error) {
    const reason = `list of erasures ${file} can't be written (${(error as NodeJS.ErrnoException).code})`
    throw new Problem('configuration', `${begin} ${reason}`, { hint })
  }
}

/**
 * Creates the list of a daemon if there is none: if a command of root created it, only root could write it. Throws Problem
 * `configuration` if it can't be written.
 */
export const beginErasures = ({ erasuresFile: file }: Keeper): void => {
  if (file !== null) append(file, '', 'The', 'give it to the user of the daemon')
}

/** As for a backup: the time of the server, also where the clock of a development database has moved. */
const readTime = statement('time-of-erasure', { row: { at: 'timestamptz' } }, 'select clock_timestamp() as at')

/**
 * Returns the listener that adds an erasure to the list. It writes before the commit: an erasure that is not in the list would be undone by
 * a restore.
 */
export const recordErasures = ({ erasuresFile: file, secret }: Keeper): Listener | null =>
  file === null
    ? null
    : {
        async contactsRemoved({ sql, accountId }, { listId, email }) {
          if (listId !== undefined || email === undefined) return
          const [time] = await sql(readTime)
          // It begins with a line break, because a full disk may have cut off the line before.
          const line = `\n${time!.at.toISOString()} ${markOf(secret)} ${hasherOf(secret)(accountId, email)}\n`
          append(
            file,
            line,
            'Nothing was erased: the',
            'make it writable, and erase again: without the list a restored backup would bring the person back',
          )
        },
      }

/** The lines of a list of erasures. */
export type ErasureList = readonly string[]

/** Returns the list, or null if there is no file. Throws Problem `kind` if it can't be read, or is not a list. */
export const readErasures = (file: string | null, kind: 'usage' | 'configuration'): ErasureList | null => {
  if (file === null) return null
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new Problem(kind, `The list of erasures ${file} can't be read (${code})`)
  }
  const lines = text.split(/\r?\n/)
  if (text.trim() !== '' && !lines.some((line) => /^\S+Z [0-9a-f]{16} [0-9a-f]{64}$/.test(line)))
    throw new Problem(kind, `${file} is not a list of erasures`)
  return lines
}

interface Listed {
  /** The hashes of this secret. */
  hashes: ReadonlySet<string>
  /** Lines of other secrets. */
  unreadable: number
}

/** Returns the erasures after a time. */
export const erasedSince = (list: ErasureList, secret: string, since: number): Listed => {
  const hashes = new Set<string>()
  let unreadable = 0
  for (const line of list) {
    const [time = '', mark, hash] = line.split(' ')
    const at = Date.parse(time)
    if (hash === undefined || Number.isNaN(at) || at < since) continue
    if (mark === markOf(secret)) hashes.add(hash)
    else unreadable++
  }
  return { hashes, unreadable }
}

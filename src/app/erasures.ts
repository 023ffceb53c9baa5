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

const unwritable = (file: string, error: unknown) =>
  new Problem(
    'configuration',
    `Nothing was erased: the list of erasures ${file} can't be written (${(error as NodeJS.ErrnoException).code})`,
    { hint: 'make it writable, and erase again: without the list a restored backup would bring the person back' },
  )

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
          const line = `${time!.at.toISOString()} ${markOf(secret)} ${hasherOf(secret)(accountId, email)}\n`
          try {
            appendFileSync(file, line, { mode: 0o600, flush: true })
          } catch (error) {
            throw unwritable(file, error)
          }
        },
      }

/** The lines of a list of erasures. */
export type ErasureList = readonly string[]

/** Returns the list, or null if there is no file. Throws Problem `kind` if it can't be read. */
export const readErasures = (file: string | null, kind: 'usage' | 'configuration'): ErasureList | null => {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new Problem(kind, `The list of erasures ${file} can't be read (${code})`)
  }
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

import { coalesceCalls } from '../lib/coalesce.ts'
import { conflict } from '../lib/problem.ts'
import { isSharedFailure, SerializationConflict } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { writeFairly } from './contacts.contention.ts'
import { type ContactWrite, mergeWrites } from './contacts.fields.ts'
import { demandList } from './contacts.lists.ts'
import type { Verdict } from './contacts.verdict.ts'
import { verifyAddresses } from './contacts.verify.ts'
import type { Contact } from './contacts.view.ts'
import { type Outcome, writeAndRead, writeContacts } from './contacts.write.ts'

type Writer = Pick<App, 'sql' | 'resolver' | 'now' | 'work' | 'database'>

/** The ContactUpsertResult of api.md section 2. Identical data counts as `updated`. */
export interface UpsertCounts {
  created: number
  updated: number
  skipped: number
}

const count = (outcomes: Iterable<Outcome>): UpsertCounts => {
  const counts: UpsertCounts = { created: 0, updated: 0, skipped: 0 }
  for (const outcome of outcomes) counts[outcome === 'unchanged' ? 'updated' : outcome]++
  return counts
}

interface OneWrite {
  write: ContactWrite
  verdicts: ReadonlyMap<string, Verdict>
}

type OneResult = { outcome: Outcome; contact: Contact | undefined }

interface Target {
  app: Writer
  accountId: string
  actor: string
  listId: string
}

const mostAtOnce = 64

/**
 * Single writes of one caller into one list. Those that come while one is under way are written together after it: they would
 * wait for each other's commit anyway, at the list's counter. Those of one address follow one another, each in a unit of work of
 * its own: locks are taken in the order of the addresses, once.
 */
const writeTogether = coalesceCalls(
  mostAtOnce,
  ({ app, accountId, actor, listId }: Target, calls: readonly OneWrite[]): Promise<OneResult[]> =>
    writeFairly(app, accountId, actor, async (work) => {
      const verdicts = new Map(calls.flatMap((call) => [...call.verdicts]))
      const writes = calls.map(({ write }) => write)
      const { outcomes, contacts } = await writeAndRead(work, listId, writes, verdicts)
      const byEmail = new Map(contacts.map((contact) => [contact.email, contact]))
      return writes.map(({ email }) => {
        const outcome = outcomes.get(email)!
        const contact = byEmail.get(email)
        // It was there and unchanged, so nothing held it, and it has been erased meanwhile: then it comes anew.
        if (!contact && outcome !== 'skipped') throw new SerializationConflict('The contact was erased meanwhile')
        return { outcome, contact }
      })
    }),
  { isShared: isSharedFailure, subjectOf: ({ write }) => write.email },
)

/** Verdicts on addresses for a list: for one that is not there, which the write finds out in the end, DNS is not asked. */
const verifyFor = (app: Writer, accountId: string, listId: string, emails: readonly string[]) =>
  verifyAddresses(app, emails, { before: () => demandList({ sql: app.sql, accountId }, listId) })

/**
 * Upserts one contact by its normalised address (POST /contacts). Verifies it first, outside the transaction. Throws
 * Problem `missing` for a list that is not the account's, `conflict` where the plan has no room; then nothing is written.
 */
export const upsertContact = async (
  app: Writer,
  accountId: string,
  actor: string,
  { listId, ...write }: { listId: string } & ContactWrite,
): Promise<UpsertCounts & { contact: Contact }> => {
  const verdicts = await verifyFor(app, accountId, listId, [write.email])
  const target = { app, accountId, actor, listId }
  const key = JSON.stringify([accountId, actor, listId])
  const { outcome, contact } = await writeTogether(target, app.database, key, { write, verdicts })
  if (outcome === 'skipped') throw conflict("The plan's contact limit is reached")
  return { ...count([outcome]), contact: contact! }
}

/**
 * Upserts a batch by normalised address (POST /contacts): repeated addresses are merged in order and counted once, those
 * beyond the plan's contact limit skipped. Throws Problem `missing`, or `invalid` past 40 columns; then nothing is written.
 */
export const upsertBatch = async (
  app: Writer,
  accountId: string,
  actor: string,
  { listId, contacts }: { listId: string; contacts: readonly ContactWrite[] },
): Promise<UpsertCounts> => {
  const writes = mergeWrites(contacts)
  const emails = writes.map(({ email }) => email)
  const verdicts = await verifyFor(app, accountId, listId, emails)
  const outcomes = await writeFairly(app, accountId, actor, (work) => writeContacts(work, listId, writes, verdicts))
  return count(outcomes.values())
}

import { coalesceCalls } from '../../lib/coalesce.ts'
import { conflict } from '../../lib/problem.ts'
import { isSharedFailure, SerializationConflict } from '../../store/database.ts'
import type { App } from '../../store/work.ts'
import { type ContactWrite, mergeWrites } from '../contacts.fields.ts'
import type { Contact } from '../contacts.view.ts'
import { requireList } from '../lists/lists.ts'
import type { VerificationResult } from '../verification/result.ts'
import { verifyAddresses } from '../verification/verify.ts'
import { writeFairly } from './contention.ts'
import { type Outcome, writeAndRead, writeContacts } from './write-contacts.ts'

type Writer = Pick<App, 'sql' | 'resolver' | 'now' | 'work' | 'database'>

/** ContactUpsertResult (docs/reference/api.md#contactupsertresult). Identical data counts as `updated`. */
interface UpsertCounts {
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
  verifications: ReadonlyMap<string, VerificationResult>
}

type OneResult = { outcome: Outcome; contact: Contact | undefined }

interface Target {
  app: Writer
  accountId: string
  actor: string
  listId: string
  events: boolean
}

const maxBatch = 64

/**
 * Coalesces single writes of one caller into one list. Writes that arrive during another one share the next unit of work: they would
 * wait for each other's commit anyway, at the list's counter. Writes of the same address run one after another, each in its own unit of
 * work, because a unit of work locks each address once, in order.
 */
const writeTogether = coalesceCalls(
  maxBatch,
  ({ app, accountId, actor, listId, events }: Target, calls: readonly OneWrite[]): Promise<OneResult[]> =>
    writeFairly(app, accountId, actor, async (work) => {
      const verifications = new Map(calls.flatMap((call) => [...call.verifications]))
      const writes = calls.map(({ write }) => write)
      const { outcomes, contacts } = await writeAndRead(work, listId, writes, verifications, { events })
      const byEmail = new Map(contacts.map((contact) => [contact.email, contact]))
      return writes.map(({ email }) => {
        const outcome = outcomes.get(email)!
        const contact = byEmail.get(email)
        // An unchanged contact is not locked, so it may have been erased meanwhile: the unit of work runs again and adds it.
        if (!contact && outcome !== 'skipped') throw new SerializationConflict('The contact was erased meanwhile')
        return { outcome, contact }
      })
    }),
  { isShared: isSharedFailure, subjectOf: ({ write }) => write.email },
)

/** Verifies addresses for a list. Throws Problem `not_found` before asking DNS if the list does not exist. */
const verifyFor = (app: Writer, accountId: string, listId: string, emails: readonly string[]) =>
  verifyAddresses(app, emails, { before: () => requireList({ sql: app.sql, accountId }, listId) })

/**
 * Upserts one contact by its normalised address (POST /contacts). Verifies it first, outside the transaction. Throws
 * Problem `not_found` for a list that is not the account's, `conflict` if the plan's contact limit is reached; then
 * nothing is written. `events` false: fires no contact events.
 */
export const upsertContact = async (
  app: Writer,
  accountId: string,
  actor: string,
  { listId, ...write }: { listId: string } & ContactWrite,
  { events = true }: { events?: boolean } = {},
): Promise<UpsertCounts & { contact: Contact }> => {
  const verifications = await verifyFor(app, accountId, listId, [write.email])
  const target = { app, accountId, actor, listId, events }
  const key = JSON.stringify([accountId, actor, listId, events])
  const { outcome, contact } = await writeTogether(target, app.database, key, { write, verifications })
  if (outcome === 'skipped') throw conflict("The plan's contact limit is reached")
  return { ...count([outcome]), contact: contact! }
}

/**
 * Upserts a batch by normalised address (POST /contacts). Repeated addresses are merged in order and counted once; new addresses
 * beyond the plan's contact limit are skipped. Throws Problem `not_found` for a list that is not the account's, `invalid` if the list
 * would get more than 40 columns; then nothing is written.
 */
export const upsertBatch = async (
  app: Writer,
  accountId: string,
  actor: string,
  { listId, contacts }: { listId: string; contacts: readonly ContactWrite[] },
): Promise<UpsertCounts> => {
  const writes = mergeWrites(contacts)
  const emails = writes.map(({ email }) => email)
  const verifications = await verifyFor(app, accountId, listId, emails)
  const outcomes = await writeFairly(app, accountId, actor, (work) =>
    writeContacts(work, listId, writes, verifications),
  )
  return count(outcomes.values())
}

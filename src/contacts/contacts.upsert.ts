import { conflict } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import { type ContactWrite, type Fields, mergeWrites } from './contacts.fields.ts'
import { readContacts } from './contacts.find.ts'
import { demandList } from './contacts.lists.ts'
import { verifyAddresses } from './contacts.verify.ts'
import type { Contact } from './contacts.view.ts'
import { type Outcome, writeContacts } from './contacts.write.ts'

type Writer = Pick<App, 'sql' | 'resolver' | 'now' | 'work'>

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

/**
 * Upserts one contact by its normalised address (POST /contacts). Verifies it first, outside the transaction. Throws
 * Problem `missing` for a list that is not the account's, `conflict` where the plan has no room; then nothing is written.
 */
export const upsertContact = async (
  app: Writer,
  accountId: string,
  actor: string,
  input: { listId: string; email: string; fields: Fields },
): Promise<UpsertCounts & { contact: Contact }> => {
  const { listId, email, fields } = input
  await demandList({ sql: app.sql, accountId }, listId)
  const verdicts = await verifyAddresses(app, [email])
  return app.work(accountId, actor, async (work) => {
    const outcomes = await writeContacts(work, listId, [{ email, fields }], verdicts)
    const counts = count(outcomes.values())
    if (counts.skipped > 0) throw conflict("The plan's contact limit is reached")
    const [contact] = await readContacts(work, email, listId)
    return { ...counts, contact: contact! }
  })
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
  await demandList({ sql: app.sql, accountId }, listId)
  const verdicts = await verifyAddresses(
    app,
    writes.map(({ email }) => email),
  )
  const outcomes = await app.work(accountId, actor, (work) => writeContacts(work, listId, writes, verdicts))
  return count(outcomes.values())
}

import { eraseContact } from '../../contacts/contacts.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { Problem } from '../../lib/problem.ts'
import { readHeldAddresses } from '../../store/held-addresses.ts'
import type { App } from '../../store/work.ts'
import { type ErasureList, erasedSince, hasherOf } from '../erasures.ts'

interface Applied {
  /** The number of people who were erased. */
  erased: number
  /** The number of people who were not, because their account has moved or is being exported: it accepts no unit of work. */
  left: number
  /** The number of lines of the list that were written under another secret. */
  unreadable: number
}

/** Erases the people on the list again, after the restore of a backup that was written at `since` (epoch ms). Rejects if `signal` is aborted. */
export const applyErasures = async (
  app: Pick<App, 'database' | 'work' | 'personalData'>,
  list: ErasureList,
  secret: string,
  { since, signal }: { since: number; signal: AbortSignal },
): Promise<Applied> => {
  const { hashes, unreadable } = erasedSince(list, secret, since)
  const applied: Applied = { erased: 0, left: 0, unreadable }
  if (hashes.size === 0) return applied
  const hashOf = hasherOf(secret)
  const personalData = await app.personalData()
  for await (const { accountId, email: held } of readHeldAddresses(app.database)) {
    signal.throwIfAborted()
    // The rejected rows of imports keep addresses as the files had them.
    const email = normalizeEmail(held)
    if (!hashes.has(hashOf(accountId, email))) continue
    try {
      await app.work(accountId, 'cli:restore', (work) => eraseContact(work, email, { dryRun: false, personalData }))
      applied.erased++
    } catch (error) {
      const kind = error instanceof Problem ? error.kind : null
      if (kind === 'gone' || kind === 'unavailable') applied.left++
      else if (kind !== 'not_found') throw error
    }
  }
  return applied
}

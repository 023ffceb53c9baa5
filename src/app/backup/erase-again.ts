import { existsSync } from 'node:fs'
import { eraseContact } from '../../contacts/contacts.ts'
import { Problem } from '../../lib/problem.ts'
import { readHeldAddresses } from '../../store/held-addresses.ts'
import type { App } from '../../store/work.ts'
import { hasherOf, type Keeper, readErasures } from '../erasures.ts'

/**
 * Erases again whom the list names, after a restore of a backup that was written at `since` (epoch ms). Returns how many were erased, and how
 * many lines were written under another secret.
 */
export const applyErasures = async (
  app: Pick<App, 'database' | 'work' | 'personalData'>,
  { erasuresFile: file, secret }: Keeper,
  since: number,
): Promise<{ erased: number; unreadable: number }> => {
  if (file === null || !existsSync(file)) return { erased: 0, unreadable: 0 }
  const { hashes, unreadable } = readErasures(file, secret, since)
  if (hashes.size === 0) return { erased: 0, unreadable }
  const hashOf = hasherOf(secret)
  const personalData = await app.personalData()
  let erased = 0
  for await (const { accountId, email } of readHeldAddresses(app.database)) {
    if (!hashes.has(hashOf(accountId, email))) continue
    await app
      .work(accountId, 'cli:restore', (work) => eraseContact(work, email, { dryRun: false, personalData }))
      .then(
        () => erased++,
        (error) => {
          if (!(error instanceof Problem) || error.kind !== 'not_found') throw error
        },
      )
  }
  return { erased, unreadable }
}

import { Problem } from '../lib/problem.ts'
import type { Sql } from './database.ts'

/** Of the secret that the database was set up with; undefined: nobody has opened it yet. */
export const readFingerprint = async (sql: Sql): Promise<string | undefined> => {
  const [row] = await sql<{ fingerprint: string }>('select secret_fingerprint as fingerprint from installation')
  return row?.fingerprint
}

/**
 * Holds the process to the secret that the database was first opened with: with another one it could open nothing that is
 * sealed there, and would seal what no other process opens. Who opens a new database leaves the fingerprint of its own; of
 * two at once the first. Throws Problem `configuration` where it is another.
 */
export const checkSecret = async (sql: Sql, fingerprint: string): Promise<void> => {
  let kept = await readFingerprint(sql)
  if (kept === undefined) {
    const insert = 'insert into installation (id, secret_fingerprint) values (1, $1) on conflict do nothing'
    await sql(insert, [fingerprint])
    kept = await readFingerprint(sql)
  }
  if (kept === fingerprint) return
  throw new Problem('configuration', 'SVC_SECRET is not the secret that this database was set up with', {
    hint: 'start with the SVC_SECRET that it was first used with (embedded: the file secret in the data folder)',
  })
}

/** The sealed keys of links that former secrets signed; null where there are none, or a schema that is behind can't tell. */
export const readFormerKeys = async (sql: Sql): Promise<string | null> => {
  try {
    const [row] = await sql<{ sealed: string | null }>('select sealed_former_keys as sealed from installation')
    return row?.sealed ?? null
  } catch (error) {
    if (['42P01', '42703'].includes((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

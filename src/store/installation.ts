import { Problem } from '../lib/problem.ts'
import { typed } from './column-types.ts'
import type { Sql } from './database.ts'
import { statement } from './statement.ts'

const readInstallation = statement(
  'read-installation',
  { row: { fingerprint: 'text', note: 'text?' } },
  `select secret_fingerprint as fingerprint, obj_description('installation'::regclass, 'pg_class') as note from installation`,
)

/** Returns the fingerprint of the secret that the database was set up with, or undefined if no process has opened it yet. */
export const readFingerprint = async (sql: Sql): Promise<string | undefined> => {
  const [row] = await sql(readInstallation)
  return row?.fingerprint
}

/** The comment on the table `installation` of a restored database, whatever its schema, until the erasures are repeated. */
const restoredNote = 'restored; erasures to repeat since '

/**
 * Notes, in the transaction of restored rows, that erasures since `since` (epoch ms) are to be repeated. Until then no other process
 * starts.
 */
export const noteRestored = async (sql: Sql, since: number): Promise<void> => {
  await sql(`comment on table installation is '${restoredNote}${since}'`)
}

const dropNote = statement('drop-note-of-restore', {}, 'comment on table installation is null')

/** Notes that the erasures have been repeated. */
export const noteErased = async (sql: Sql): Promise<void> => {
  await sql(dropNote)
}

const readNote = statement(
  'read-note-of-restore',
  { row: { note: 'text?' } },
  `select obj_description(to_regclass('installation'), 'pg_class') as note`,
)

/** Returns since when the erasures are to be repeated (epoch ms) after an interrupted restore; null if there was none. */
export const readRestored = async (sql: Sql): Promise<number | null> => {
  const [row] = await sql(readNote)
  return row?.note?.startsWith(restoredNote) ? Number(row.note.slice(restoredNote.length)) : null
}

const insertFingerprint = statement(
  'insert-installation',
  { parameters: { fingerprint: 'text' } },
  'insert into installation (id, secret_fingerprint) values (1, :fingerprint) on conflict do nothing',
)

/**
 * Requires the secret that the database was first opened with, and that no restore is under way. With another secret the process could
 * open nothing that is sealed there, and would seal values that no other process can open. The first process that opens a new database
 * stores the fingerprint of its secret. Throws Problem `configuration` if the fingerprints differ, `unavailable` for a restore.
 */
export const checkInstallation = async (sql: Sql, fingerprint: string): Promise<void> => {
  let [kept] = await sql(readInstallation)
  if (kept === undefined) {
    await sql(insertFingerprint, { fingerprint })
    ;[kept] = await sql(readInstallation)
  }
  if (kept?.fingerprint !== fingerprint)
    throw new Problem('configuration', 'SVC_SECRET is not the secret that this database was set up with', {
      hint: 'start with the SVC_SECRET that it was first used with (embedded: the file secret in the data folder)',
    })
  if (kept.note?.startsWith(restoredNote))
    throw new Problem(
      'unavailable',
      'The restore of this database is not complete: erasures since the backup are still to be repeated',
      {
        hint: 'if it was interrupted, svc db restore <file> continues it',
      },
    )
}

const publicUrl = statement('read-public-url', { row: { url: 'text?' } }, 'select public_url as url from installation')

/** Returns the public URL of the daemon that started last, or null if none has started. */
export const readPublicUrl = async (sql: Sql): Promise<string | null> => {
  const [row] = await sql(publicUrl)
  return row?.url ?? null
}

const daemonSettings = statement(
  'read-daemon-settings',
  { row: { settings: typed<Record<string, unknown> | null>('jsonb') } },
  'select daemon_settings as settings from installation',
)

/** Returns the settings of the daemon that started last, or null if none has started. */
export const readDaemonSettings = async (sql: Sql): Promise<Record<string, unknown> | null> => {
  const [row] = await sql(daemonSettings)
  return row?.settings ?? null
}

const updateDaemonSettings = statement(
  'keep-daemon-settings',
  { parameters: { settings: 'jsonb' } },
  'update installation set daemon_settings = :settings',
)

/** Stores the settings of a daemon that serves the API: `svc doctor` compares its own with them. */
export const keepDaemonSettings = async (sql: Sql, settings: Record<string, unknown>): Promise<void> => {
  await sql(updateDaemonSettings, { settings: JSON.stringify(settings) })
}

const updatePublicUrl = statement(
  'keep-public-url',
  { parameters: { url: 'text' } },
  'update installation set public_url = :url where public_url is distinct from :url',
)

/** Stores the public URL of a daemon that serves the API: commands use the same one. */
export const keepPublicUrl = async (sql: Sql, url: string): Promise<void> => {
  await sql(updatePublicUrl, { url })
}

const lockTable = statement('lock-installation', {}, 'lock table installation in access exclusive mode')

/** Locks out every starting process until the end of the transaction: each reads the fingerprint of the secret first. */
export const lockInstallation = async (sql: Sql): Promise<void> => {
  await sql(lockTable)
}

const upsertSecret = statement(
  'replace-secret',
  { parameters: { fingerprint: 'text', sealedFormerKeys: 'text?' } },
  `insert into installation (id, secret_fingerprint, sealed_former_keys) values (1, :fingerprint, :sealedFormerKeys)
   on conflict (id) do update set secret_fingerprint = excluded.secret_fingerprint,
     sealed_former_keys = excluded.sealed_former_keys`,
)

/** Replaces the fingerprint of the secret, and the sealed keys of former secrets, which are null if there are none. */
export const replaceSecret = async (sql: Sql, fingerprint: string, sealedFormerKeys: string | null): Promise<void> => {
  await sql(upsertSecret, { fingerprint, sealedFormerKeys })
}

const formerKeys = statement(
  'read-former-keys',
  { row: { sealed: 'text?' } },
  'select sealed_former_keys as sealed from installation',
)

/** Returns the sealed keys of former secrets, or null if there are none, or if the schema is too old to have the column. */
export const readFormerKeys = async (sql: Sql): Promise<string | null> => {
  try {
    const [row] = await sql(formerKeys)
    return row?.sealed ?? null
  } catch (error) {
    if (['42P01', '42703'].includes((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

/*
 * Rotating the secret keeps the keys of old links. Links in sent emails are signed with a key derived from the secret.
 * They should survive its rotation. The keys of old links are kept, sealed with the new secret; the old secret is not.
 * They read links and open nothing else. A rotation locks `installation`, which every starting process reads, so
 * connections with the old secret are visible. The secret cannot be rotated while daemons run.
 */

import { conflict, Problem } from '../../lib/problem.ts'
import { createSecretBox, type SecretBox, secretFingerprint } from '../../lib/secrets.ts'
import { tokenKeys } from '../../lib/token.ts'
import type { SealedText } from '../../store/backup/backup.ts'
import type { Database, Sql } from '../../store/database.ts'
import { lockInstallation, readFingerprint, replaceSecret } from '../../store/installation.ts'
import { readOtherProcesses } from '../../store/processes.ts'
import { statement } from '../../store/statement.ts'
import { formerKeys } from '../app.ts'

/**
 * A column of texts sealed with `SVC_SECRET`. `context` is the SQL expression of the context that each text was sealed with. It
 * is unique in the table.
 */
const sealedColumn = (table: string, column: string, context: string) => ({
  table,
  column,
  context,
  /** It reads all rows if the limit is null. */
  read: statement(
    `read-${table}-${column}`,
    { row: { sealed: 'text', context: 'text' }, parameters: { limit: 'int8?' } },
    `select ${column} as sealed, ${context} as context from ${table} where ${column} is not null limit :limit`,
  ),
  reseal: statement(
    `reseal-${table}-${column}`,
    { parameters: { resealed: 'jsonb' } },
    `update ${table} set ${column} = v.sealed
     from jsonb_to_recordset(:resealed::jsonb) as v(context text, sealed text) where ${context} = v.context`,
  ),
})

/** Every column of the database that holds sealed texts. */
export const sealedColumns = [
  sealedColumn('delivery_targets', 'sealed_secret', 'id'),
  sealedColumn('delivery_targets', 'former_sealed_secret', 'id'),
  sealedColumn('relays', 'sealed_password', 'account_id'),
  sealedColumn('domains', 'sealed_key', `account_id || ' ' || domain`),
  sealedColumn('bounce_mailboxes', 'sealed_password', `'bounces ' || account_id`),
  sealedColumn('payment_providers', 'sealed_key', 'account_id'),
  sealedColumn('payment_providers', 'sealed_webhook_secret', 'account_id'),
  sealedColumn('payment_providers', 'former_sealed_key', 'account_id'),
  sealedColumn('payment_providers', 'former_sealed_webhook_secret', 'account_id'),
  sealedColumn('installation', 'sealed_former_keys', `'installation'`),
]

const ofAccounts = sealedColumns.filter(({ table }) => table !== 'installation')

export const openSealed = async (sql: Sql, box: SecretBox, accountId: string): Promise<SealedText[]> => {
  const texts: SealedText[] = []
  for (const { table, column, context } of ofAccounts) {
    const reading = `select ${column} as sealed, ${context} as context from ${table} where account_id = $1 and ${column} is not null`
    for (const row of await sql<{ sealed: string; context: string }>(reading, [accountId]))
      texts.push({ table, column, context: row.context, text: box.open(row.sealed, row.context) })
  }
  return texts
}

/** Seals the texts of an imported account, and replaces those in its rows, which another secret has sealed. */
export const sealTexts = async (
  sql: Sql,
  box: SecretBox,
  accountId: string,
  texts: readonly SealedText[],
): Promise<void> => {
  for (const { table, column, context } of ofAccounts) {
    const own = texts.filter((text) => text.table === table && text.column === column)
    const sealed = own.map((text) => ({ context: text.context, sealed: box.seal(text.text, text.context) }))
    await sql(
      `update ${table} t set ${column} = v.sealed
       from (select ${context} as key, ctid as row from ${table} where account_id = $2) o
       join jsonb_to_recordset($1::jsonb) as v(context text, sealed text) on v.context = o.key
       where t.ctid = o.row`,
      [JSON.stringify(sealed), accountId],
    )
  }
}

/** Rows of each update. */
const atOnce = 1000

interface Rotation {
  from: string
  to: string
  /** Invalidates links that were signed with the old secret, because it leaked. */
  endLinks: boolean
  dryRun: boolean
}

const isReached = async (sql: Sql, { from, to }: Rotation): Promise<boolean> => {
  const kept = await readFingerprint(sql)
  if (kept === secretFingerprint(to)) return true
  if (kept === undefined || kept === secretFingerprint(from)) return false
  throw new Problem('configuration', 'SVC_SECRET is not the secret that this database was set up with', {
    hint: 'set SVC_SECRET to the current secret, and pass the new one as SVC_NEW_SECRET or --secret-file',
  })
}

/** Whether the database is sealed with this secret. */
export const usesSecret = async ({ sql }: Database, secret: string): Promise<boolean> =>
  (await readFingerprint(sql)) === secretFingerprint(secret)

const requireNoOtherProcess = async (sql: Sql): Promise<void> => {
  const [other] = await readOtherProcesses(sql)
  if (!other) return
  throw conflict(`Another svc process uses the old secret: ${other.process}`, {
    hint: 'stop every daemon (svc status lists them), rotate, start them with the new secret',
  })
}

const resealColumn = async (
  sql: Sql,
  { read, reseal }: (typeof sealedColumns)[number],
  { from, to }: Rotation,
): Promise<number> => {
  const [old, next] = [createSecretBox(from), createSecretBox(to)]
  const rows = await sql(read, { limit: null })
  for (let at = 0; at < rows.length; at += atOnce) {
    const resealed = rows.slice(at, at + atOnce).map(({ sealed, context }) => ({
      context,
      sealed: next.seal(old.open(sealed, context), context),
    }))
    await sql(reseal, { resealed: JSON.stringify(resealed) })
  }
  return rows.length
}

const keepLinks = async (sql: Sql, { from, to, endLinks }: Rotation): Promise<void> => {
  const next = createSecretBox(to)
  const keys = endLinks ? [] : [tokenKeys(from), ...(await formerKeys(sql, next))]
  const sealed = keys.length > 0 ? next.seal(JSON.stringify(keys), 'installation') : null
  await replaceSecret(sql, secretFingerprint(to), sealed)
}

class DryRunRollback extends Error {}

/**
 * Seals all stored texts with the new secret in one transaction. Returns their number; null if the database uses the new
 * secret already. No other process may use the old secret meanwhile: a starting process has to read `installation`, which is
 * locked, and a running one is found by its connection. Throws Problem `conflict` if there is one, `configuration` if `from`
 * is not the current secret.
 */
export const rotateSecret = async (database: Database, rotation: Rotation): Promise<number | null> => {
  let resealed = 0
  try {
    return await database.transaction(async (sql) => {
      resealed = 0
      await lockInstallation(sql)
      if (await isReached(sql, rotation)) return null
      await requireNoOtherProcess(sql)
      for (const column of sealedColumns) resealed += await resealColumn(sql, column, rotation)
      await keepLinks(sql, rotation)
      if (rotation.dryRun) throw new DryRunRollback()
      return resealed
    })
  } catch (error) {
    if (error instanceof DryRunRollback) return resealed
    throw error
  }
}

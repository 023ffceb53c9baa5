import { createReadStream } from 'node:fs'
import {
  beginExport,
  completeExport,
  insertAccountRow,
  readAccountRow,
  releaseImported,
  resumeAccount,
} from '../../accounts/accounts.ts'
import { conflict } from '../../lib/problem.ts'
import { type AccountHeader, readAccount, writeAccount } from '../../store/backup/backup.ts'
import { readOtherProcesses } from '../../store/processes.ts'
import type { App } from '../../store/work.ts'
import { openNewFile } from '../new-file.ts'
import { openSealed, sealTexts } from '../operate/operate.ts'

interface Run {
  actor: string
  passphrase: string
  signal: AbortSignal
  onRows(rows: number): void
}

/** A daemon of an earlier version would go on working for the account. */
const requireOneVersion = async ({ sql }: App, version: string): Promise<void> => {
  const isDaemon = ({ parts }: { parts: string[] }) => parts.some((part) => part === 'daemon' || part === 'jobs')
  const daemons = (await readOtherProcesses(sql)).filter(isDaemon)
  const other = daemons.find((daemon) => daemon.version === null || !version.startsWith(daemon.version))
  if (other)
    throw conflict(`A daemon of another version is connected: ${other.process}`, { hint: 'upgrade every daemon first' })
}

/**
 * Exports the account (id) to a new file. From the first statement on it does not work in this installation, and at the end it has
 * moved for good. If it is interrupted, a repeated call continues.
 */
export const exportAccount = async (
  app: App,
  accountId: string,
  file: string,
  version: string,
  { actor, passphrase, signal, onRows }: Run,
): Promise<{ rows: number; bytes: number }> => {
  await requireOneVersion(app, version)
  // Before the account stops: a folder that can't be written stops nothing.
  const made = openNewFile(file)
  try {
    const { moveId } = await beginExport(app, accountId, actor, signal)
    const rows = await writeAccount(app.database, made.target, {
      accountId,
      passphrase,
      version,
      signal,
      onRows,
      readRow: async (sql) => (await readAccountRow(sql, accountId)) as AccountHeader['account'],
      openSealed: (sql) => openSealed(sql, app.box, accountId),
    })
    // Before the file gets its name: another installation may import it from then on.
    await completeExport(app, accountId, moveId)
    return { rows, bytes: made.publish() }
  } catch (error) {
    made.discard()
    throw error
  }
}

interface Imported {
  id: string
  name: string
  /** The number of rows by table. It is null if the account was imported before. */
  rows: Record<string, number> | null
}

/**
 * Imports an exported account in one transaction: it works here from the commit on. Interrupted, it leaves nothing, and can be
 * repeated; the same file again changes nothing.
 */
export const importAccount = async (
  app: App,
  file: string,
  { actor, passphrase, signal, onRows, dryRun }: Run & { dryRun: boolean },
): Promise<Imported> => {
  const { header, rows } = await readAccount(app.database, createReadStream(file), {
    passphrase,
    dryRun,
    signal,
    onRows,
    begin: (sql, { account }) => insertAccountRow(sql, account),
    async finish(sql, { account, sealed }) {
      await releaseImported(sql, account.id)
      await sealTexts(sql, app.box, account.id, sealed)
    },
  })
  const { id, name } = header.account
  if (!dryRun) await resumeAccount(app, id, actor)
  return { id, name, rows }
}

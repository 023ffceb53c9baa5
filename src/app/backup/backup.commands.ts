import type { ReadStream } from 'node:fs'
import type { Context } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { argument, type FlagValues, present, text } from '../../cli/flags.ts'
import { openSource } from '../../cli/input.ts'
import { createProgress } from '../../cli/progress.ts'
import { Problem } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import type { Sql } from '../../store/database.ts'

const progressOf = (context: Context) => (context.out.format === 'ids' ? null : createProgress(process.stderr, 'row'))

/** Prints the remark if the user interrupted the command; otherwise throws the error. */
const unlessStopped = ({ out, signal }: Context, error: unknown, what: string): void => {
  if (!signal.aborted) throw error
  out.note(what)
}

const backup = async (context: Context, file: string): Promise<void> => {
  const { out, signal } = context
  const { openForInspection } = await import('../open.ts')
  const { writeBackup } = await import('../../store/backup/backup.ts')
  const { version } = await import('../../cli/version.ts')
  const { openNewFile, requireNoFile } = await import('../new-file.ts')
  if (file === '-' && out.isTerminal)
    throw new Problem('usage', "A backup is binary and can't be printed on a terminal", {
      hint: 'svc db backup - > svc.backup',
    })
  if (file !== '-') requireNoFile(file)
  const app = await openForInspection()
  const progress = progressOf(context)
  let made: ReturnType<typeof openNewFile> | null = null
  try {
    made = file === '-' ? null : openNewFile(file)
    const target =
      made?.target ??
      new (await import('node:stream')).Writable({
        write: (chunk, _, done) => void process.stdout.write(chunk, done),
      })
    const onRows = (rows: number, estimate: number) =>
      progress?.update({ rows, fraction: estimate > 0 ? Math.min(rows / estimate, 0.99) : null })
    const rows = await writeBackup(app.database, target, version(), { signal, onRows }).finally(() => progress?.stop())
    if (!made) return out.note(quantity(rows, 'row'))
    out.one({ file, rows, bytes: made.publish() })
    out.note('Its credentials are sealed with this SVC_SECRET: keep the secret, too, in another place.')
  } catch (error) {
    made?.discard()
    const { code = '', syscall } = error as NodeJS.ErrnoException
    if (syscall === 'open' || syscall === 'rename')
      throw new Problem('usage', `${file} can't be written (${code})`, { hint: 'svc db backup - > file' })
    if (file === '-' && code === 'EPIPE')
      throw new Problem('internal', 'Standard output was closed before the backup was complete', {
        hint: 'svc db backup <file>',
      })
    unlessStopped(context, error, 'Stopped: no backup was written.')
  } finally {
    await app.close()
  }
}

const restoreFlags = {
  erasures: text('<file>', 'the list of people to erase again (default: that of this installation)'),
  dryRun: present('check the whole file, and change nothing'),
  hold: present('pause all queues: nothing that is pending leaves until svc queues resume'),
}

type RestoreFlags = FlagValues<typeof restoreFlags>

const restoreFrom = async (
  context: Context,
  source: ReadStream | NodeJS.ReadStream,
  size: number | null,
  { dryRun = false, hold, erasures }: RestoreFlags,
): Promise<void> => {
  const { out, signal } = context
  const { openApp } = await import('../app.ts')
  const { readRestoreTarget } = await import('../open.ts')
  const { findRestored, readBackup } = await import('../../store/backup/backup.ts')
  const { secretFingerprint } = await import('../../lib/secrets.ts')
  const { holdRestored } = await import('../../queue/holds.ts')
  const { noteErased, noteRestored } = await import('../../store/installation.ts')
  const { readErasures } = await import('../erasures.ts')
  const config = readRestoreTarget(dryRun)
  const readList = () =>
    erasures !== undefined ? readErasures(erasures, 'usage') : readErasures(config.erasuresFile, 'configuration')
  // Before anything is restored: without their list, people would be back.
  readList()
  const app = await openApp(config, { schema: 'ignore', connections: 4, name: 'svc cli' })
  const progress = progressOf(context)
  let isRestored = false
  try {
    const found = dryRun ? null : await findRestored(app.database, app.databaseUrl)
    const restoreRows = async () => {
      const onRows = (rows: number) => {
        progress?.update({ rows, fraction: size && 'bytesRead' in source ? source.bytesRead / size : null })
      }
      const beforeCommit = async (sql: Sql, createdAt: number) => {
        await noteRestored(sql, createdAt)
        if (hold) await holdRestored(sql)
      }
      const options = { dryRun, signal, onRows, beforeCommit }
      return readBackup(app.database, app.databaseUrl, source, secretFingerprint(config.secret), options).finally(() =>
        progress?.stop(),
      )
    }
    if (found && hold) await holdRestored(app.sql)
    const { createdAt, rows } = found ?? (await restoreRows())
    isRestored = !dryRun
    const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
    if (dryRun) out.note('The backup is complete and can be restored into this database. Nothing was changed.')
    if (found)
      out.note(
        'An interrupted restore had written all rows. It is continued: the erasures since the backup are repeated.',
      )
    if (hold && !dryRun) out.note('All queues are paused: svc queues show, then svc queues resume')
    const { applyErasures } = await import('./erase-again.ts')
    const list = readList()
    const nothing = { erased: 0, left: 0, unreadable: 0 }
    const { erased, left, unreadable } =
      dryRun || list === null ? nothing : await applyErasures(app, list, config.secret, { since: createdAt, signal })
    if (!dryRun) await noteErased(app.sql)
    if (!dryRun && list === null)
      out.note(
        'There is no list of erasures: people who were erased after the backup are back. Erase them again, or restore with --erasures <file>.',
      )
    if (left > 0)
      out.note(
        `${quantity(left, 'person', 'people')} could not be erased again, because the account is being moved or has moved: erase them where it works, or delete the account here.`,
      )
    if (unreadable > 0)
      out.note(
        `The list of erasures has ${quantity(unreadable, 'line')} of another SVC_SECRET, which can't be compared: erase these people again.`,
      )
    const counts = { rows: total, ...(!dryRun && { erased }) }
    const trial = dryRun && { dryRun }
    out.one({ ...trial, createdAt, ...counts, tables: rows }, { ...trial, createdAt: new Date(createdAt), ...counts })
  } catch (error) {
    unlessStopped(
      context,
      error,
      isRestored
        ? 'Stopped: all rows are restored, but not all erasures are repeated; run the command again.'
        : 'Stopped: nothing was restored; run the command again.',
    )
  } finally {
    await app.close()
  }
}

const restore = async (context: Context, file: string, flags: RestoreFlags): Promise<void> => {
  if (flags.erasures !== undefined) await (await openSource(flags.erasures)).close()
  if (file === '-') return restoreFrom(context, process.stdin, null, flags)
  // Opened before root works as the owner of the data folder, who may not be able to read it.
  const handle = await openSource(file)
  try {
    await restoreFrom(context, handle.createReadStream(), (await handle.stat()).size, flags)
  } finally {
    await handle.close()
  }
}

/** The commands `svc db backup` and `svc db restore` (docs/reference/cli.md#backup-and-restore). */
export const commands: CommandList = [
  command({
    path: 'db backup',
    summary: 'Write a compressed backup of the whole database; the daemon can keep running',
    examples: ['svc db backup svc-2026-11-23.backup', 'svc db backup - > svc.backup'],
    arguments: [argument('<file|->', 'a new file, or - for standard output')],
    app: 'none',
    run: (context, file) => backup(context, file),
  }),

  command({
    path: 'db restore',
    summary: 'Restore a backup into an empty database: the embedded one, or that of DATABASE_URL',
    examples: [
      'svc db restore svc.backup --dry-run',
      'svc db restore svc.backup --hold',
      'DATABASE_URL=postgres://svc@db.example/svc svc db restore svc.backup',
    ],
    arguments: [argument('<file|->', 'a backup, or - for standard input')],
    flags: restoreFlags,
    app: 'none',
    run: (context, file, flags) => restore(context, file, flags),
  }),
]

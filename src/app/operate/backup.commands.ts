import type { CommandSet, Context } from '../../cli/command.ts'
import { createProgress } from '../../cli/progress.ts'
import { conflict, missing, Problem } from '../../lib/problem.ts'

const progressOf = (context: Context) => (context.out.format === 'ids' ? null : createProgress(process.stderr, 'rows'))

/** Says that nothing came of it where it was interrupted; else the failure itself. */
const unlessStopped = ({ out, signal }: Context, error: unknown, what: string): void => {
  if (!signal.aborted) throw error
  out.note(what)
}

const openPrivate = (fs: typeof import('node:fs'), path: string): number => {
  fs.rmSync(path, { force: true })
  return fs.openSync(path, 'wx', 0o600)
}

const backup = async (context: Context, file: string): Promise<void> => {
  const { out, signal } = context
  const [{ openToLook }, { writeBackup }, { version }, fs] = await Promise.all([
    import('./open.ts'),
    import('../../store/backup.write.ts'),
    import('../../cli/program.ts'),
    import('node:fs'),
  ])
  if (file === '-' && out.isTerminal)
    throw new Problem('usage', 'A backup is no text for a terminal', { hint: 'svc db backup - > svc.backup' })
  if (file !== '-' && fs.existsSync(file)) throw conflict(`${file} is there already`, { hint: 'name another file' })
  const part = `${file}.part`
  const app = await openToLook()
  const progress = progressOf(context)
  try {
    const target =
      file === '-'
        ? new (await import('node:stream')).Writable({
            write: (chunk, _, done) => void process.stdout.write(chunk, done),
          })
        : fs.createWriteStream(part, { fd: openPrivate(fs, part), flush: true })
    const onRows = (rows: number, estimate: number) =>
      progress?.update({ rows, fraction: estimate > 0 ? Math.min(rows / estimate, 0.99) : null })
    const rows = await writeBackup(app.database, target, version(), { signal, onRows }).finally(() => progress?.stop())
    if (file === '-') return out.note(`${rows.toLocaleString('en')} rows`)
    fs.renameSync(part, file)
    const bytes = fs.statSync(file).size
    out.one({ file, rows, bytes })
    out.note('What is sealed in it opens with this SVC_SECRET alone: keep that too, elsewhere.')
  } catch (error) {
    if (file !== '-') fs.rmSync(part, { force: true })
    const { code = '', syscall } = error as NodeJS.ErrnoException
    if (syscall === 'open' || syscall === 'rm') throw new Problem('usage', `${file} can't be written (${code})`)
    unlessStopped(context, error, 'Stopped: there is no backup.')
  } finally {
    await app.close()
  }
}

const restore = async (context: Context, file: string, dryRun: boolean): Promise<void> => {
  const { out, signal } = context
  const [{ openApp }, { readConfig }, { readBackup }, { secretFingerprint }, fs] = await Promise.all([
    import('../app.ts'),
    import('../config.ts'),
    import('../../store/backup.read.ts'),
    import('../../lib/secrets.ts'),
    import('node:fs'),
  ])
  if (file !== '-' && !fs.existsSync(file)) throw missing(`There is no file ${file}`)
  const size = file === '-' ? null : fs.statSync(file).size
  const config = readConfig()
  const app = await openApp(config, { schema: 'ignore', connections: 4, name: 'svc cli' })
  const progress = progressOf(context)
  try {
    const source = file === '-' ? process.stdin : fs.createReadStream(file)
    const onRows = (rows: number) => {
      const read = (source as { bytesRead?: number }).bytesRead
      progress?.update({ rows, fraction: size && read ? read / size : null })
    }
    const fingerprint = secretFingerprint(config.secret)
    const options = { dryRun, signal, onRows }
    const { createdAt, rows } = await readBackup(app.database, app.databaseUrl, source, fingerprint, options).finally(
      () => progress?.stop(),
    )
    const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
    if (dryRun) out.note('The backup is whole and would fill this database. Nothing was changed.')
    out.one({ createdAt, rows: total, tables: rows }, { createdAt: new Date(createdAt), rows: total })
  } catch (error) {
    unlessStopped(context, error, 'Stopped: nothing was restored, and the same command may begin anew.')
  } finally {
    await app.close()
  }
}

/** `svc db backup` and `svc db restore` (cli.md, Commands). */
export const commands: CommandSet = (cli) => {
  const db = cli.noun('db')

  db.command('backup')
    .description('Write one compressed file of everything, while the daemon runs')
    .argument('<file|->', 'a file that is not there yet, or standard output')
    .action(cli.run((context, file: string) => backup(context, file), { app: 'none' }))

  db.command('restore')
    .description('Fill an empty database from a backup: the embedded one, or that of DATABASE_URL')
    .argument('<file|->', 'what svc db backup wrote, or standard input')
    .option('--dry-run', 'read the whole file and say whether it could be')
    .action(
      cli.run((context, file: string, { dryRun = false }: { dryRun?: boolean }) => restore(context, file, dryRun), {
        app: 'none',
      }),
    )
}

import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type Cli, type CommandSet, type Context, paged } from '../cli/command.ts'
import { collectEarly } from '../cli/memory.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { Reject } from './imports.batch.ts'
import type { Counts } from './imports.counts.ts'
import type { ImportOptions, ImportView, OpenImport, Source } from './imports.ts'

const importColumns: Column<ImportView>[] = [
  ['ID', (row) => row.id],
  ['STATUS', (row) => row.status],
  ['ROWS', (row) => row.rows],
  ['CREATED', (row) => row.created],
  ['UPDATED', (row) => row.updated],
  ['UNCHANGED', (row) => row.unchanged],
  ['SKIPPED', (row) => row.skipped],
  ['REJECTED', (row) => row.rejected],
  ['STARTED', (row) => new Date(row.startedAt)],
  ['FILE', (row) => row.file],
]

const rejectColumns: Column<Reject>[] = [
  ['LINE', (reject) => reject.line],
  ['EMAIL', (reject) => reject.email],
  ['REASON', (reject) => reject.reason],
]

interface ImportFlags {
  list?: string
  createList?: boolean
  map?: string
  encoding: string
  rejects?: string
  onConflict: string
  events: boolean
  dryRun?: boolean
}

const counts = ({ created, updated, unchanged, skipped, rejected }: Counts): Counts => ({
  created,
  updated,
  unchanged,
  skipped,
  rejected,
})

const fileOf = (given: string): string => (given === '-' ? '-' : resolve(given))

/** Ends a run that SIGINT or SIGTERM stopped before it had begun to write. */
const interruptible = async (context: Context, run: () => Promise<void>): Promise<void> => {
  try {
    await run()
  } catch (error) {
    if (context.signal.aborted && (error as Error).name === 'AbortError')
      throw new Problem('conflict', 'Interrupted before anything was written')
    throw error
  }
}

/** A source that can be given up: what still waits at a pipe then ends, and the process with it. */
const openSource = async ({ signal }: Context, file: string): Promise<{ source: Source; end: () => void }> => {
  const { openFile, openStdin } = await import('./imports.ts')
  const giveUp = new AbortController()
  const either = AbortSignal.any([signal, giveUp.signal])
  return { source: file === '-' ? openStdin(either) : await openFile(file, either), end: () => giveUp.abort() }
}

/** Shows on stderr how far the reading is; the rate is that of the rows after `rowsBefore`. */
const watch = ({ progress }: Context, source: Source, rowsBefore = 0) => {
  const bar = progress('rows')
  const onBatch = (rows: number) =>
    bar.update({ rows, fraction: source.size ? Math.min(1, source.bytesRead() / source.size) : null })
  onBatch(rowsBefore)
  return { onBatch, stop: bar.stop }
}

/** Goes on with an import to its end and prints what became of the rows. */
const go = async (
  context: Context,
  opened: OpenImport,
  source: Source,
  prepared: Parameters<typeof import('./imports.ts').runImport>[2],
) => {
  const { app, actor, signal, out } = context
  const { runImport } = await import('./imports.ts')
  const { id: accountId } = await context.account()
  const { onBatch, stop } = watch(context, source, opened.rows)
  const startedAt = performance.now()
  const result = await runImport({ app, accountId, actor, signal, onBatch }, opened, prepared).finally(stop)
  if (result.status !== 'done') {
    throw new Problem('conflict', `Interrupted after ${result.rows} rows: they stay`, {
      hint: `svc imports resume ${result.id}`,
    })
  }
  const rate = Math.round(((result.rows - opened.rows) / (performance.now() - startedAt)) * 1000)
  const { id, rows } = result
  out.one({ id, ...counts(result), rows }, { id, ...counts(result), rows, 'rows/s': rate })
  if (result.rejected + result.skipped > 0) context.exit(5)
}

const optionsOf = async (flags: ImportFlags): Promise<ImportOptions> => {
  const { parseMap } = await import('./imports.ts')
  const { onConflict, encoding, events } = flags
  if (onConflict !== 'upsert' && onConflict !== 'skip')
    throw new Problem('usage', '--on-conflict must be upsert or skip')
  const rejectsFile = flags.rejects === undefined ? null : resolve(flags.rejects)
  return { map: Object.fromEntries(parseMap(flags.map ?? '')), encoding, onConflict, events, rejectsFile }
}

const preview = async (context: Context, source: Source, list: string, flags: ImportFlags, options: ImportOptions) => {
  const { prepareImport, previewImport, targetList } = await import('./imports.ts')
  const prepared = await prepareImport(source, options)
  const target = await context.work((work) => targetList(work, list, flags.createList ?? false, prepared.columns))
  const { onBatch, stop } = watch(context, source)
  const { id: accountId } = await context.account()
  const result = await previewImport(context.app, accountId, target?.id ?? null, prepared, options, onBatch).finally(
    stop,
  )
  context.out.note(`Nothing was changed. It would${target ? '' : ` create the list ${list} and`} do this:`)
  const { rows, events } = result
  context.out.one({ dryRun: true, ...counts(result), rows, events }, { ...counts(result), rows, ...events })
  if (result.rejected + result.skipped > 0) context.exit(5)
}

const begin = async (context: Context, source: Source, list: string, flags: ImportFlags, options: ImportOptions) => {
  const { checkRejectsFile, openList, prepareImport, startImport } = await import('./imports.ts')
  const prepared = await prepareImport(source, options)
  if (options.rejectsFile) await checkRejectsFile(options.rejectsFile, source.file)
  const opened = await context.work(async (work) => {
    const { id } = await openList(work, list, flags.createList ?? false, prepared.columns)
    return startImport(work, { listId: id, file: source.file, sha256: source.sha256, options })
  })
  if (context.out.format !== 'ids') context.out.note(`Import ${opened.id}`)
  await go(context, opened, source, prepared)
}

const resume = async (context: Context, id: string, given: string | undefined, rejects: string | undefined) => {
  const { checkRejectsFile, openImport, prepareImport, writeRejects } = await import('./imports.ts')
  const opened = await context.work((work) => openImport(work, id))
  if (rejects !== undefined) opened.options.rejectsFile = resolve(rejects)
  if (opened.status === 'done') {
    if (rejects !== undefined) {
      await checkRejectsFile(resolve(rejects), opened.file)
      await writeRejects(context.work, id, resolve(rejects))
    }
    context.out.note(`The import ${id} is done already.`)
    return context.out.one({ id, ...counts(opened), rows: opened.rows })
  }
  if (opened.file === '-' && given === undefined) {
    throw new Problem('usage', `The import ${id} read standard input: give the same input again`, {
      hint: `svc imports resume ${id} <file|->`,
    })
  }
  const file = given === undefined ? opened.file : fileOf(given)
  const { source, end } = await openSource(context, file).catch((error) => {
    if (!(error instanceof Problem)) throw error
    throw new Problem(error.kind, error.message, { hint: `svc imports resume ${id} <where the file is now>` })
  })
  try {
    if (opened.fileSha256 !== null && source.sha256 !== opened.fileSha256) {
      throw new Problem(
        'conflict',
        `${source.file} is not what the import ${id} began with: it has changed, or is another file`,
        { hint: 'import it anew: svc contacts import' },
      )
    }
    const prepared = await prepareImport(source, opened.options)
    if (opened.options.rejectsFile) await checkRejectsFile(opened.options.rejectsFile, source.file)
    await go(context, opened, source, prepared)
  } finally {
    end()
  }
}

/** `svc contacts import` */
export const addImport = (noun: Command, cli: Cli): void => {
  noun
    .command('import')
    .hook('preAction', collectEarly)
    .description('Import contacts from a CSV file, in batches of 500 rows; what is done stays whatever happens')
    .argument('<file>', 'CSV with a header line, separated by comma, semicolon or tab; - reads standard input')
    .option('--list <id|name>', 'the list to import into')
    .option('--create-list', 'make the list where there is none of that name')
    .option('--map <map>', 'columns to fields: "E-mail=email,First=first_name"; the others keep their names')
    .option('--encoding <name>', 'of the file, such as latin1', 'utf-8')
    .option('--rejects <file>', 'write the rows that could not be imported there: line, email, reason')
    .option('--on-conflict <upsert|skip>', 'skip leaves contacts that are in the list as they are', 'upsert')
    .option('--no-events', 'fire no contact.created and contact.updated')
    .option('--dry-run', 'say what would happen, the events included')
    .action(
      cli.run(async (context, file: string, flags: ImportFlags) => {
        const { list } = await context.require({ list: flags.list })
        const options = await optionsOf(flags)
        await context.account()
        await interruptible(context, async () => {
          const { source, end } = await openSource(context, fileOf(file))
          await (flags.dryRun ? preview : begin)(context, source, list, flags, options).finally(end)
        })
      }),
    )
}

export const commands: CommandSet = (cli) => {
  const noun = cli.noun('imports')

  paged(noun.command('list', { isDefault: true }).description('List imports, newest first')).action(
    cli.run(async ({ pages, work }, flags: PageFlags) => {
      const { listImports } = await import('./imports.ts')
      await pages('imports', flags, (page) => work((w) => listImports(w, page)), importColumns)
    }),
  )

  noun
    .command('show')
    .description('Show an import')
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showImport } = await import('./imports.ts')
        out.one(await work((w) => showImport(w, id)))
      }),
    )

  noun
    .command('resume')
    .hook('preAction', collectEarly)
    .description('Go on with an import after its last whole batch; no row is written twice')
    .argument('<id>')
    .argument('[file]', 'where the file is now; for standard input the same input again, which is not checked')
    .option('--rejects <file>', 'write the rows that could not be imported there: line, email, reason')
    .action(
      cli.run((context, id: string, file: string | undefined, flags: { rejects?: string }) =>
        interruptible(context, () => resume(context, id, file, flags.rejects)),
      ),
    )

  paged(
    noun.command('rejects').description('List the rows of an import that could not be imported').argument('<id>'),
  ).action(
    cli.run(async ({ pages, work }, id: string, flags: PageFlags) => {
      const { listRejects } = await import('./imports.ts')
      await pages('rejects', flags, (page) => work((w) => listRejects(w, id, page)), rejectColumns)
    }),
  )
}

import { resolve } from 'node:path'
import { type Context, collectEarly } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { absent, argument, confirmed, type FlagValues, needed, paged, present, text, unasked } from '../../cli/flags.ts'
import { properties } from '../../cli/output.ts'
import { Problem } from '../../lib/problem.ts'
import { number, quantity } from '../../lib/quantity.ts'
import { shellWord } from '../../lib/shell.ts'
import type { Reject } from './batch.ts'
import type { ImportOptions, ImportView, OpenImport } from './checkpoint.ts'
import type { Counts } from './counts.ts'
import type { Source } from './file.ts'

const importColumns = properties<ImportView>(
  'id',
  'status',
  'rows',
  'created',
  'updated',
  'unchanged',
  'skipped',
  'rejected',
  'suppressed',
  'startedAt',
  'file',
)

const rejectColumns = properties<Reject>('line', 'email', 'reason')

const importFlags = {
  list: needed('<id|name>', 'the list to import into', { mayBeNew: true }),
  createList: present('create the list if it does not exist'),
  map: text('<map>', 'map columns to fields: "E-mail=email,First=first_name"; other columns keep their names'),
  encoding: text('<name>', 'encoding of the file, such as latin1 (default: utf-8; detected on a terminal)', {
    of: ['utf-8', 'latin1'],
  }),
  from: text(
    '<product>',
    "read another product's export, with its opt-outs and consents: mailchimp, hubspot, brevo, listmonk, resend or plunk",
    { of: async () => (await import('./vendors.ts')).vendorNames },
  ),
  assumeSubscribed: present('with --from, take a file that does not say who has opted out'),
  keepNames: present("with --from, keep the product's names of fields, such as FNAME for first_name"),
  rejects: text('<file>', 'write rejected rows to this file: line, email, reason'),
  onConflict: text('<upsert|skip>', 'for contacts that are in the list: update or skip them', {
    default: 'upsert',
    of: ['upsert', 'skip'],
  }),
  events: absent('do not fire contact.created and contact.updated'),
  ...confirmed('show what would happen, including events'),
}

type ImportFlags = FlagValues<typeof importFlags>

/** Returns the counts to print. Only exports of other products have rows that become suppressions. */
const counts = (
  { created, updated, unchanged, skipped, rejected, suppressed }: Counts,
  { origin }: ImportOptions,
): Omit<Counts, 'suppressed'> & { suppressed?: number } => ({
  created,
  updated,
  unchanged,
  skipped,
  rejected,
  ...(origin && { suppressed }),
})

const fileOf = (given: string): string => (given === '-' ? '-' : resolve(given))

/** Reports an interruption by SIGINT or SIGTERM before the first write. */
const interruptible = async (context: Context, run: () => Promise<void>): Promise<void> => {
  try {
    await run()
  } catch (error) {
    if (context.signal.aborted && (error as Error).name === 'AbortError')
      throw new Problem('conflict', 'Interrupted before anything was written')
    throw error
  }
}

/** Opens a source. `end` aborts reading, so that a silent pipe does not keep the process alive. */
const openSource = async ({ signal }: Context, file: string): Promise<{ source: Source; end: () => void }> => {
  const { openFile, openStdin } = await import('./file.ts')
  const giveUp = new AbortController()
  const either = AbortSignal.any([signal, giveUp.signal])
  return { source: file === '-' ? openStdin(either) : await openFile(file, either), end: () => giveUp.abort() }
}

/** Shows the progress on stderr. The rate counts the rows after `rowsBefore`. */
const watch = ({ progress }: Context, source: Source, rowsBefore = 0) => {
  const bar = progress('row')
  const onBatch = (rows: number) =>
    bar.update({ rows, fraction: source.size ? Math.min(1, source.bytesRead() / source.size) : null })
  onBatch(rowsBefore)
  return { onBatch, stop: bar.stop }
}

/** Runs an import to its end and prints the counts. */
const runAndReport = async (
  context: Context,
  opened: OpenImport,
  source: Source,
  prepared: Parameters<typeof import('./imports.run.ts').runImport>[2],
) => {
  const { app, actor, signal, out } = context
  const { runImport } = await import('./imports.run.ts')
  const { warningsOf } = await import('./opted-out.ts')
  const { id: accountId } = await context.account()
  const optedOut = {}
  const { onBatch, stop } = watch(context, source, opened.rows)
  const startedAt = performance.now()
  const result = await runImport({ app, accountId, actor, signal, onBatch, optedOut }, opened, prepared).finally(stop)
  if (result.status !== 'done') {
    throw new Problem('conflict', `Interrupted after ${quantity(result.rows, 'row')}, which stay imported`, {
      hint: `svc imports resume ${result.id}`,
    })
  }
  const rate = Math.round(((result.rows - opened.rows) / (performance.now() - startedAt)) * 1000)
  const { id, rows } = result
  const shown = counts(result, opened.options)
  const warnings = warningsOf(optedOut, true)
  for (const warning of warnings) out.note(warning)
  out.one({ id, ...shown, rows, warnings }, { id, ...shown, rows, 'rows/s': rate })
  if (result.rejected > 0) await explainRejects(context, id, result.rejected)
  else {
    const list = (await out.names([opened.listId])).get(opened.listId) ?? opened.listId
    await context.next(`svc contacts list --list ${shellWord(list)}`)
  }
  if (result.rejected + result.skipped > 0) context.exit(5)
}

/** Prints the reasons of rejects, and the command that lists all of them, in formats for people. */
const explainRejects = async ({ out, work }: Context, id: string, rejected: number): Promise<void> => {
  if (!out.isText) return
  const { reasonsOf, rejectsText } = await import('./rejects.ts')
  out.note(rejectsText(rejected, await work((w) => reasonsOf(w, id))))
  out.note(`  next: svc imports rejects ${id}`)
}

const optionsOf = async (file: string, flags: ImportFlags): Promise<ImportOptions> => {
  const { originOf } = await import('./prepare.ts')
  const { parseMap } = await import('./columns.ts')
  const { onConflict, encoding = 'utf-8', events } = flags
  if (onConflict !== 'upsert' && onConflict !== 'skip')
    throw new Problem('usage', '--on-conflict must be upsert or skip')
  const rejectsFile = flags.rejects === undefined ? null : resolve(flags.rejects)
  const map = Object.fromEntries(parseMap(flags.map ?? ''))
  const { from, assumeSubscribed, keepNames } = flags
  const origin = originOf(file, { from, assumeSubscribed, keepNames })
  return { map, encoding, onConflict, events, rejectsFile, ...(origin && { origin }) }
}

const computePreview = async (
  context: Context,
  source: Source,
  list: string,
  flags: ImportFlags,
  options: ImportOptions,
) => {
  const { prepareImport, requireColumns, targetList } = await import('./prepare.ts')
  const { previewImport } = await import('./preview.ts')
  const { warningsOf } = await import('./opted-out.ts')
  const prepared = await prepareImport(source, options)
  const target = await context.work((work) => targetList(work, list, flags.createList ?? false, prepared.columns))
  const { onBatch, stop } = watch(context, source)
  const { id: accountId } = await context.account()
  const result = await previewImport(context.app, accountId, target?.id ?? null, prepared, options, onBatch).finally(
    stop,
  )
  requireColumns(target, result.names)
  const warnings = warningsOf(result.optedOut, false)
  for (const warning of warnings) {
    context.out.note(warning)
    context.out.note('  next: svc suppressions import <the rows that have opted out>')
    if (!options.origin) context.out.note("If the file is another product's export, --from reads who has opted out.")
  }
  return { ...result, warnings, isNewList: target === null }
}

type ImportPreview = Awaited<ReturnType<typeof computePreview>>

/** Shows what becomes of the rows of another product's export. */
const showPlan = ({ out }: Context, { created, updated, unchanged, skipped, ...result }: ImportPreview): void => {
  const { reasons, pending, rejected, rejects } = result
  const plan: [rows: number, becomes: string][] = [
    [created - pending, 'new contacts, active'],
    [pending, 'new contacts, not active: not confirmed there, or suppressed here'],
    [updated, 'updated contacts'],
    [unchanged, 'unchanged'],
    ...Object.entries(reasons).map(([reason, rows]): [number, string] => [rows, `suppressed: ${reason}`]),
    ...Object.entries(result.left).map(([topic, rows]): [number, string] => [rows, `leave the topic ${topic}`]),
    [skipped, 'skipped because of the plan'],
    [rejected, rejects.length > 0 ? `refused: ${rejects.map(({ reason }) => reason).join('; ')}` : 'refused'],
  ]
  const shown = plan.filter(([rows]) => rows > 0)
  const width = Math.max(...shown.map(([rows]) => number(rows).length), 4)
  out.note(`${'ROWS'.padStart(width)}  BECOME`)
  for (const [rows, becomes] of shown) out.note(`${number(rows).padStart(width)}  ${becomes}`)
}

/**
 * Asks a person about an import before it begins; in a pipe or a script it needs no `--yes`. Returns null if the person does not
 * want it.
 */
const arranged = async (...[context, source, list, flags, options]: Parameters<typeof computePreview>) => {
  if (flags.yes || source.file === '-') return { options, flags }
  if (!context.asks) {
    if (options.origin && context.out.format !== 'ids')
      showPlan(context, await computePreview(context, source, list, flags, options))
    return { options, flags }
  }
  const { arrange, showRows } = await import('./arrange.commands.ts')
  const found = await arrange(context, source, { ...flags, list }, options)
  if (!found) return null
  const { createList } = found
  const result = await computePreview(context, source, list, { ...flags, createList }, found.options)
  await showRows(context, found)
  if (options.origin) showPlan(context, result)
  const { rows, created, updated, skipped, rejected, events } = result
  const fired = events['contact.created'] + events['contact.updated']
  const people = [
    `${quantity(created, 'contact')} created`,
    `${number(updated)} updated`,
    ...(result.suppressed > 0 ? [`${number(result.suppressed)} suppressed`] : []),
    ...(rejected > 0 ? [`${number(rejected)} rejected`] : []),
    ...(skipped > 0 ? [`${number(skipped)} skipped because of the plan`] : []),
  ].join(', ')
  const what = `import ${quantity(rows, 'row')} into ${list} (${people})`
  const isMeant = await context.confirm(fired > 0 ? `${what} and fire ${quantity(fired, 'event')}` : what, {})
  return isMeant ? { options: found.options, flags: { ...flags, createList } } : null
}

const preview = async (
  ...[context, source, list, flags, options]: Parameters<typeof computePreview>
): Promise<void> => {
  const result = await computePreview(context, source, list, flags, options)
  const { isNewList, rows, events, wanted, reasons, left, pending, rejects, warnings } = result
  context.out.note(`Nothing was changed. It would${isNewList ? ` create the list ${list} and` : ''} do this:`)
  const shown = counts(result, options)
  const plan = options.origin ? { reasons, left, pending, rejects } : {}
  if (options.origin && context.out.isText) showPlan(context, result)
  const unwanted = options.events ? 'no subscriber' : 'not fired'
  const fired = Object.entries(events).map(([type, n]) => [type, wanted[type as keyof typeof wanted] ? n : unwanted])
  const read = { ...shown, rows, ...Object.fromEntries(fired) }
  context.out.one({ dryRun: true, ...shown, rows, events, ...plan, warnings }, read)
  if (result.rejected + result.skipped > 0) context.exit(5)
}

const begin = async (context: Context, source: Source, list: string, given: ImportFlags, named: ImportOptions) => {
  const { findOrCreateList, prepareImport } = await import('./prepare.ts')
  const { startImport } = await import('./checkpoint.ts')
  const meant = await arranged(context, source, list, given, named)
  if (!meant) return
  const { options, flags } = meant
  const prepared = await prepareImport(source, options)
  const opened = await context.work(async (work) => {
    const { id } = await findOrCreateList(work, list, flags.createList ?? false, prepared.columns)
    return startImport(work, { listId: id, file: source.file, sha256: source.sha256, options })
  })
  if (context.out.format !== 'ids') context.out.note(`Import ${opened.id}`)
  await runAndReport(context, opened, source, prepared)
}

const resumeFlags = {
  rejects: text('<file>', 'write rejected rows to this file: line, email, reason'),
  ...unasked('check the file, show where it would continue, and write nothing'),
}

const resume = async (
  context: Context,
  id: string,
  given: string | undefined,
  { rejects, dryRun }: FlagValues<typeof resumeFlags>,
) => {
  const { checkRejectsFile, writeRejects } = await import('./rejects.ts')
  const { openImport } = await import('./checkpoint.ts')
  const { prepareImport } = await import('./prepare.ts')
  const opened = await context.work((work) => openImport(work, id))
  if (rejects !== undefined) opened.options.rejectsFile = resolve(rejects)
  if (opened.status === 'done') {
    if (rejects !== undefined) {
      await checkRejectsFile(resolve(rejects), opened.file)
      if (!dryRun) await writeRejects(context.work, id, resolve(rejects))
    }
    context.out.note(`The import ${id} is already done.`)
    const trial = dryRun && { dryRun }
    return context.out.one({ ...trial, id, ...counts(opened, opened.options), rows: opened.rows })
  }
  if (opened.file === '-' && given === undefined) {
    throw new Problem('usage', `The import ${id} read standard input: give the same input again`, {
      hint: `svc imports resume ${id} <file|->`,
    })
  }
  const file = given === undefined ? opened.file : fileOf(given)
  const { source, end } = await openSource(context, file).catch((error) => {
    if (!(error instanceof Problem)) throw error
    throw new Problem(error.kind, error.message, { hint: `svc imports resume ${id} <current path of the file>` })
  })
  try {
    if (opened.fileSha256 !== null && source.sha256 !== opened.fileSha256) {
      throw new Problem('conflict', `${source.file} has changed since the import ${id} began, or is another file`, {
        hint: 'import it again: svc contacts import',
      })
    }
    const prepared = await prepareImport(source, opened.options)
    if (opened.options.rejectsFile) await checkRejectsFile(opened.options.rejectsFile, source.file)
    if (dryRun) {
      context.out.one({ dryRun, id, file: source.file, rows: opened.rows })
      return context.out.note(`Would continue after row ${number(opened.rows)}. Nothing was changed.`)
    }
    await runAndReport(context, opened, source, prepared)
  } finally {
    end()
  }
}

/** The command `svc contacts import`. */
export const importCommand = command({
  path: 'contacts import',
  summary: 'Import contacts from a CSV file, in batches of 500 rows that stay if the import is interrupted',
  examples: [
    'svc contacts import people.csv --list Customers --create-list --map "E-mail=email,First=first_name"',
    'svc contacts import people.csv --list Customers --rejects bad.csv --dry-run',
    'svc contacts import unsubscribed_email_audience_export_1a2b3c.csv --list News --from mailchimp',
  ],
  arguments: [
    argument('<file>', 'CSV with a header line, separated by comma, semicolon or tab; - reads standard input'),
  ],
  flags: importFlags,
  before: collectEarly,
  run: async (context, file, flags) => {
    const { checkRejectsFile } = await import('./rejects.ts')
    const { list } = flags
    const options = await optionsOf(file, flags)
    await context.account()
    if (options.rejectsFile) await checkRejectsFile(options.rejectsFile, fileOf(file))
    await interruptible(context, async () => {
      const { source, end } = await openSource(context, fileOf(file))
      await (flags.dryRun ? preview : begin)(context, source, list, flags, options).finally(end)
    })
  },
})

export const commands: CommandList = [
  command({
    path: 'imports list',
    isDefault: true,
    summary: 'List imports, newest first',
    examples: ['svc imports', 'svc imports list --limit 5 --json'],
    flags: paged,
    run: async ({ pages, work }, flags) => {
      const { listImports } = await import('./checkpoint.ts')
      await pages('imports', flags, (page) => work((w) => listImports(w, page)), importColumns)
    },
  }),

  command({
    path: 'imports show',
    summary: 'Show an import',
    examples: [
      'svc imports show imp_01m82xtxmmvg2qj0qr50gtn6ay',
      'svc imports show imp_01m82xtxmmvg2qj0qr50gtn6ay --json',
    ],
    arguments: [argument('<id>')],
    run: async ({ out, work }, given) => {
      const { showImport } = await import('./checkpoint.ts')
      const shown = await work((w) => showImport(w, given))
      out.one(shown)
      const { id, status, file } = shown
      if (status === 'stopped' && out.isText) out.next(`svc imports resume ${id}${file === '-' ? ' <file|->' : ''}`)
    },
  }),

  command({
    path: 'imports resume',
    summary: 'Resume an import after its last complete batch; no row is written twice',
    examples: [
      'svc imports resume imp_01m82xtxmmvg2qj0qr50gtn6ay',
      'svc imports resume imp_01m82xtxmmvg2qj0qr50gtn6ay people.csv --rejects bad.csv',
    ],
    arguments: [
      argument('<id>'),
      argument('[file]', 'the current path of the file; - reads the same standard input again, which is not checked'),
    ],
    flags: resumeFlags,
    before: collectEarly,
    run: (context, id, file, flags) => interruptible(context, () => resume(context, id, file, flags)),
  }),

  command({
    path: 'imports rejects',
    summary: 'List the rejected rows of an import',
    examples: [
      'svc imports rejects imp_01m82xtxmmvg2qj0qr50gtn6ay',
      'svc imports rejects imp_01m82xtxmmvg2qj0qr50gtn6ay --jsonl > rejects.jsonl',
    ],
    arguments: [argument('<id>')],
    flags: paged,
    run: async ({ pages, work }, id, flags) => {
      const { listRejects } = await import('./rejects.ts')
      await pages('rejects', flags, (page) => work((w) => listRejects(w, id, page)), rejectColumns)
    },
  }),
]

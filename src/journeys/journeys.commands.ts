import type { Command } from 'commander'
import { type Cli, type CommandSet, paged } from '../cli/command.ts'
import { type Column, printable } from '../cli/output.ts'
import { readSource } from '../cli/source.ts'
import type { PageFlags, PageRequest } from '../lib/page.ts'
import type { Applied, JourneyDetail, JourneyView, RunView } from './journeys.ts'

const columns: Column<JourneyView>[] = [
  ['ID', (journey) => journey.id],
  ['NAME', (journey) => journey.name],
  ['TRIGGER', (journey) => journey.triggerKind],
  ['ENABLED', (journey) => (journey.enabled ? 'yes' : 'no')],
  ['UPDATED', (journey) => new Date(journey.updatedAt)],
]

const appliedColumns: Column<Applied>[] = [
  ['ID', (journey) => journey.id],
  ['NAME', (journey) => journey.name],
  ['OUTCOME', (journey) => journey.outcome],
  ['VERSION', (journey) => journey.version],
  ['ENABLED', (journey) => (journey.enabled ? 'yes' : 'no')],
]

const runColumns: Column<RunView>[] = [
  ['ID', (run) => run.id],
  ['EMAIL', (run) => run.email],
  ['STATUS', (run) => run.status],
  ['REASON', (run) => run.reason],
  ['NEXT STEP', (run) => run.step],
  ['DUE', (run) => (run.dueAt === null ? null : new Date(run.dueAt))],
  ['LAST FAULT', (run) => run.lastFault],
  ['ENTERED', (run) => new Date(run.enteredAt)],
  ['ENDED', (run) => (run.endedAt === null ? null : new Date(run.endedAt))],
]

const addApply = (noun: Command, cli: Cli): void => {
  noun
    .command('apply')
    .description('Make journeys of a YAML or JSON file, or update them: by id where it has one, else by name')
    .option('-f, --file <file>', 'the file, or - for standard input; several documents are applied all or nothing')
    .option('--dry-run', 'check the file and say what would change')
    .action(
      cli.run(async ({ app, out, work, require }, flags: { file?: string; dryRun?: boolean }) => {
        const { file } = await require({ file: flags.file })
        const [{ applyJourneys, judgeUrls }, { maxFileBytes, readDocuments }] = await Promise.all([
          import('./journeys.ts'),
          import('../lib/documents.ts'),
        ])
        const documents = readDocuments(await readSource(file, maxFileBytes))
        const dryRun = flags.dryRun ?? false
        const urlFaults = await judgeUrls(app, documents)
        const applied = await work((w) => applyJourneys(w, documents, { dryRun, urlFaults }))
        if (applied.length === 1) out.one({ ...applied[0]!, ...(dryRun && { dryRun }) })
        else await out.list('journeys', applied, appliedColumns)
        if (dryRun) out.note('Nothing was changed.')
      }),
    )
}

/** The definition as a file that `apply` takes. */
const fileOf = async ({ id, name, enabled, definition }: JourneyDetail): Promise<string> => {
  const { stringify } = await import('yaml')
  const { trigger, reentry, exitOn, steps } = definition
  const lines = stringify({ id, name, enabled, trigger, reentry, exitOn, steps }).trimEnd().split('\n')
  return lines.map(printable).join('\n')
}

const addReads = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the journeys, most recently updated first')
    .option('--trigger <kind>', 'those with this trigger, such as api or list-added')
    .action(
      cli.run(async ({ out, work }, flags: { trigger?: string }) => {
        const { listJourneys } = await import('./journeys.ts')
        await out.list('journeys', await work((w) => listJourneys(w, flags.trigger)), columns)
      }),
    )

  noun
    .command('show')
    .description('Print the definition of a journey, as apply takes it')
    .argument('<journey>', 'id or name')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { findJourney } = await import('./journeys.ts')
        const journey = await work((w) => findJourney(w, ref))
        if (!out.fields && (out.format === 'table' || out.format === 'plain')) out.line(await fileOf(journey))
        else out.one(journey)
      }),
    )
}

const addSwitches = (noun: Command, cli: Cli): void => {
  const add = (verb: string, summary: string, enabled: boolean) =>
    noun
      .command(verb)
      .description(summary)
      .argument('<journey>', 'id or name')
      .action(
        cli.run(async ({ out, work }, ref: string) => {
          const { switchJourney } = await import('./journeys.ts')
          out.one(await work((w) => switchJourney(w, ref, enabled)))
        }),
      )
  add('enable', 'Let contacts in again', true)
  add('disable', 'Let nobody in; those that are in it go on', false)
}

const addTrigger = (noun: Command, cli: Cli): void => {
  noun
    .command('trigger')
    .description('Let an address into a journey with the trigger api or manual, adding it to the list first')
    .argument('<journey>', 'id or name')
    .option('--email <email>')
    .option('--list <id|name>')
    .action(
      cli.run(async (context, ref: string, flags: { email?: string; list?: string }) => {
        const { app, actor, account, out, require, work } = context
        const { email, list } = await require({ email: flags.email, list: flags.list })
        const { Entrant, findJourney, triggerJourney } = await import('./journeys.ts')
        const [{ findList }, { parse }] = await Promise.all([
          import('../contacts/contacts.ts'),
          import('../lib/parse.ts'),
        ])
        const [{ id }, { id: listId }] = await work(
          async (w) => [await findJourney(w, ref), await findList(w, list)] as const,
        )
        const by = { accountId: (await account()).id, actor, by: 'operator' as const }
        const entered = await triggerJourney(app, by, id, parse(Entrant, { email, listId }))
        out.one({ ok: true, entered })
        if (!entered) out.note('It is in the journey, or was, and its re-entry rule lets it in no second time.')
      }),
    )
}

interface RunFlags extends PageFlags {
  status?: string
  run?: string
}

const addRuns = (noun: Command, cli: Cli): void => {
  paged(
    noun
      .command('runs')
      .description('List who is or was in a journey, newest first, and why each ended')
      .argument('<journey>', 'id or name')
      .option('--status <status>', 'running, waiting, completed, exited or failed')
      .option('--run <id>', 'show this run, with each step that it did'),
  ).action(
    cli.run(async ({ out, pages, work }, ref: string, flags: RunFlags) => {
      const { findJourney, listRuns, RunRequest, showRun } = await import('./journeys.ts')
      const { parse } = await import('../lib/parse.ts')
      const { id: journeyId } = await work((w) => findJourney(w, ref))
      if (flags.run !== undefined) {
        return out.one(await work((w) => showRun(w, journeyId, flags.run!)))
      }
      const { status } = flags
      const load = (page: PageRequest) => {
        const request = parse(RunRequest, { journeyId, status, ...page })
        return work((w) => listRuns(w, request))
      }
      await pages('runs', flags, load, runColumns)
    }),
  )
}

/** `svc journeys` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('journeys')
  addApply(noun, cli)
  addReads(noun, cli)
  addSwitches(noun, cli)
  addTrigger(noun, cli)
  addRuns(noun, cli)
}

import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import {
  applying,
  argument,
  changing,
  confirmed,
  type FlagValues,
  needed,
  paged,
  present,
  repeated,
  text,
} from '../cli/flags.ts'
import { parse, readData, readDocumentsOf } from '../cli/input.ts'
import { type Column, type Output, printApplied, printable, printWithResults, properties } from '../cli/output.ts'
import { rollingBack } from '../cli/trial.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import { shellWord } from '../lib/shell.ts'
import type { Rehearsal, RehearsedStep } from './engine/rehearsal.ts'
import type { Applied, JourneyDetail, JourneyView, RunView, TreeStep } from './journeys.ts'

const columns: Column<JourneyView>[] = [
  ...properties<JourneyView>('id', 'name'),
  ['TRIGGER', (journey) => journey.triggerKind],
  ['ENABLED', (journey) => (journey.enabled ? 'yes' : 'no')],
  ['UPDATED', (journey) => new Date(journey.updatedAt)],
]

const appliedColumns: Column<Applied>[] = [
  ...properties<Applied>('id', 'name', 'outcome', 'version'),
  ['ENABLED', (journey) => (journey.enabled ? 'yes' : 'no')],
]

const runColumns: Column<RunView>[] = [
  ...properties<RunView>('id', 'email', 'status', 'reason'),
  ['NEXT STEP', (run) => run.step],
  ...properties<RunView>('dueAt', 'lastFault', 'enteredAt', 'endedAt'),
]

/** Returns the command that a person runs after `apply`. */
const nextStep = ([first, ...others]: readonly Applied[]): string => {
  if (!first || others.length > 0) return 'svc journeys list'
  const name = shellWord(first.name)
  if (!first.enabled) return `svc journeys enable ${name}`
  const isStarted = ['api', 'manual'].includes(first.triggerKind)
  return isStarted ? `svc journeys trigger ${name} --list <list> --email <email>` : `svc journeys runs ${name}`
}

const treeColumns = (labels: ReadonlyMap<TreeStep, string>, names: ReadonlyMap<string, string>): Column<TreeStep>[] => [
  ['STEP', (step) => labels.get(step), 'terminal'],
  ['STEP', ({ step }) => step, 'pipe'],
  ['KIND', ({ kind }) => kind, 'pipe'],
  ['RUNS', ({ runs }) => runs],
  ['SUMMARY', ({ summary }) => names.get(summary) ?? summary],
  ['VERSION', ({ version }) => version],
]

const fileOf = async ({ id, name, enabled, definition }: JourneyDetail, { names }: Output): Promise<string> => {
  const { stringify } = await import('yaml')
  const text = JSON.stringify(definition)
  const named = await names((text.match(/"[a-z]{2,5}_[0-9a-z]{26}"/g) ?? []).map((id) => id.slice(1, -1)))
  // A file may refer to things by name. Where it is printed for a person, it does, if only one thing can have the name. The
  // names of stages, courses and webinars stand beside their ids.
  const isUnique = (value: unknown) => typeof value === 'string' && /^(frm|lst|pipe|prj)_/.test(value)
  const { trigger, reentry, exitOn, steps } = JSON.parse(text, (_, value) =>
    isUnique(value) ? (named.get(value) ?? value) : value,
  )
  const lines = stringify({ id, name, enabled, trigger, reentry, exitOn, steps }).trimEnd().split('\n')
  const withName = (line: string) => {
    const other = named.get(/ ([a-z]{2,5}_[0-9a-z]{26})$/.exec(line)?.[1] ?? '')
    return other === undefined ? line : `${line} # ${other}`
  }
  return lines.map((line) => printable(withName(line))).join('\n')
}

const switching = (verb: string, summary: string, enabled: boolean) =>
  command({
    path: `journeys ${verb}`,
    summary,
    examples: [`svc journeys ${verb} Welcome`, `svc journeys ${verb} Welcome --dry-run`],
    arguments: [argument('<journey>', 'id or name')],
    flags: changing(),
    run: async ({ out, work }, ref) => {
      const { switchJourney } = await import('./journeys.ts')
      out.one(await work((w) => switchJourney(w, ref, enabled)))
    },
  })

const triggerFlags = {
  email: text('<email>', 'start it for this address, which is added to the list first; needs no --yes'),
  list: text('<id|name>', 'the list; without --email: every active contact of it, after confirmation'),
  where: text('<filter>', 'of the list: only contacts that meet this filter'),
  segment: text('<id|name>', 'every active contact of this segment, after confirmation'),
  data: repeated(
    '<name=value|@file>',
    'merge data of each run, used before fields of the contact: a field, or a JSON file (repeatable)',
  ),
  after: text('<rowId>', 'continue an interrupted command after this contact', { noun: 'rows' }),
  ...confirmed('show how many would enter, and how many emails the steps can send to them at most'),
}

type TriggerFlags = FlagValues<typeof triggerFlags>

const triggerOne = async (context: Context, ref: string, flags: TriggerFlags): Promise<void> => {
  const { app, actor, account, out, work } = context
  const { email, list } = await context.require(flags, 'email', 'list')
  const { EntryRequest, findJourney, mostEmails, triggerJourney } = await import('./journeys.ts')
  const { findList } = await import('../contacts/contacts.ts')
  const [{ id, definition }, { id: listId }] = await work(
    async (w) => [await findJourney(w, ref), await findList(w, list)] as const,
  )
  const by = { accountId: (await account()).id, actor, by: 'operator' as const }
  const data = flags.data.length > 0 ? await readData(flags.data) : undefined
  const entrant = await parse(EntryRequest, { email, listId, data })
  const entered = await triggerJourney(flags.dryRun ? rollingBack(app) : app, by, id, entrant)
  const emails = entered ? mostEmails(definition.steps) : 0
  out.one(flags.dryRun ? { dryRun: true, ok: true, entered, emails } : { ok: true, entered })
  if (!entered)
    out.note('The contact did not enter: it is or was in the journey, and the re-entry rule allows no second entry.')
  if (flags.dryRun) out.note('Nothing was changed.')
}

const triggerMany = async (context: Context, ref: string, flags: TriggerFlags): Promise<void> => {
  const { confirm, out, signal, trial, withProgress, work } = context
  const { findJourney, mostEmails, TriggerData, triggerList } = await import('./journeys.ts')
  const { findList } = await import('../contacts/contacts.ts')
  const { narrow } = await import('../segments/segments.ts')
  const data = await parse(TriggerData, await readData(flags.data), 'data')
  const { where, segment } = flags
  if (segment === undefined) await context.require(flags, 'list')
  const { journey, target, condition } = await work(async (w) => {
    const journey = await findJourney(w, ref)
    const { list, condition } = await narrow(w, flags)
    return { journey, target: await findList(w, list!), condition }
  })
  const { name: into } = journey
  const these = { journeyId: journey.id, listId: target.id, condition, after: flags.after, data }
  const run = (open: Context['work']) =>
    withProgress('contacts', condition ? null : target.rowCount, (onRows) =>
      triggerList(open, these, { signal, onBatch: ({ contacts }) => onRows(contacts) }),
    )
  const planned = await run(trial)
  signal.throwIfAborted()
  const people = quantity(planned.contacts, 'active contact')
  const met = segment === undefined ? where !== undefined && ' that meet the filter' : ` in the segment ${segment}`
  const emails = planned.entered * mostEmails(journey.definition.steps)
  const sending = emails > 0 ? `, whose steps can send up to ${quantity(emails, 'email')}` : ''
  const what = `let ${number(planned.entered)} of ${people} of ${target.name}${met || ''} into the journey ${into}${sending}`
  const isNone = planned.entered === 0
  // There is nothing to confirm.
  const asked = { ...flags, ...(isNone && { yes: true }) }
  if (!(await confirm(what, asked, { contacts: planned.contacts, entered: planned.entered, emails }))) return
  const { contacts, entered, after } = isNone ? planned : await run(work)
  if (signal.aborted) {
    const filter = where === undefined ? '' : ` --where ${shellWord(where)}`
    const selection = segment === undefined ? `--list ${target.id}${filter}` : `--segment ${shellWord(segment)}`
    const given = flags.data.map((pair) => ` --data ${shellWord(pair)}`).join('')
    throw new Problem('conflict', `Interrupted: ${quantity(entered, 'contact')} entered, and stay in the journey`, {
      hint: `svc journeys trigger ${journey.id} ${selection}${given} --after ${after}`,
    })
  }
  out.one({ ok: true, contacts, entered })
}

const stepColumns = properties<RehearsedStep>('at', 'step', 'kind', 'outcome', 'detail', 'until')

const endText = ({ status, reason }: Rehearsal): string => (reason ? `${status} (${reason})` : status)

/** The commands `svc journeys`. */
export const commands: CommandList = [
  command({
    path: 'journeys apply',
    summary: 'Create or update journeys from a YAML or JSON file: by id where it has one, else by name',
    examples: ['svc journeys apply -f welcome.yaml', 'svc journeys apply -f welcome.yaml --dry-run'],
    flags: applying,
    run: async ({ app, next, out, work }, { file, dryRun = false }) => {
      const { applyJourneys, checkStepUrls } = await import('./journeys.ts')
      const documents = await readDocumentsOf(file)
      const urlFaults = await checkStepUrls(app, documents)
      const applied = await work((w) => applyJourneys(w, documents, { dryRun, urlFaults }))
      await printApplied(out, 'journeys', applied, appliedColumns, dryRun)
      if (!dryRun) await next(nextStep(applied))
    },
  }),

  command({
    path: 'journeys list',
    isDefault: true,
    summary: 'List the journeys, most recently updated first',
    examples: ['svc journeys', 'svc journeys list --json'],
    flags: {
      trigger: text('<kind>', 'those with this trigger, such as api or list-added', {
        of: async () => (await import('./definition/definition.schema.ts')).triggerKinds,
      }),
    },
    run: async ({ out, work }, flags) => {
      const { listJourneys } = await import('./journeys.ts')
      const { triggerKinds } = await import('./definition/definition.schema.ts')
      if (flags.trigger !== undefined && !triggerKinds.some((kind) => kind === flags.trigger))
        throw new Problem('usage', `--trigger must be one of ${triggerKinds.join(', ')}`)
      await out.list('journeys', await work((w) => listJourneys(w, flags.trigger)), columns)
    },
  }),

  command({
    path: 'journeys show',
    summary: 'Print the definition of a journey, as apply takes it',
    examples: [
      'svc journeys show Welcome',
      'svc journeys show Welcome > welcome.json',
      'svc journeys show Welcome --stats',
      'svc journeys show Welcome --tree',
    ],
    arguments: [argument('<journey>', 'id or name')],
    flags: {
      stats: present(
        'show the results of its emails instead: opens, clicks, answers, bounces by day, and by side of its steps',
      ),
      tree: present('show its steps instead, each with the number of open runs that stand there'),
    },
    run: async ({ out, work }, ref, { stats, tree }) => {
      if (stats && tree) throw new Problem('usage', "--stats can't be combined with --tree")
      const { countedRuns, drawTree, findJourney, hasMoreRuns, namesFor, sidesOf, treeOf } = await import(
        './journeys.ts'
      )
      const journey = await work((w) => findJourney(w, ref))
      if (tree) {
        const steps = await work((w) => treeOf(w, journey))
        const labels = drawTree(steps, out.canvas.isAscii)
        const isShown = !out.fields && out.isText
        const names = isShown ? await work((w) => namesFor(w, steps)) : new Map<string, string>()
        const { definition, ...view } = journey
        const beside = { ...view, openRuns: steps.reduce((sum, { runs }) => sum + runs, 0) }
        return out.list('steps', steps, treeColumns(labels, names), undefined, { beside, id: ({ step }) => step })
      }
      if (stats) {
        const { machineActions, resultsOf } = await import('../results/results.ts')
        const { results, machines, sides, isCut } = await work(async (w) => ({
          results: await resultsOf(w, journey.id),
          machines: await machineActions(w, journey.id),
          sides: await sidesOf(w, journey),
          isCut: await hasMoreRuns(w, journey.id),
        }))
        const { definition, ...view } = journey
        const isDrawn = out.format === 'table' && !out.fields
        const ofSides = sides.length > 0 && { sides, ...(isCut && { sidesOfNewest: countedRuns }) }
        printWithResults(out, { ...(isDrawn ? view : journey), ...machines, ...ofSides }, results)
        return
      }
      if (!out.fields && out.isText) out.line(await fileOf(journey, out))
      else out.one(journey)
    },
  }),

  switching('enable', 'Enable a journey: contacts enter it again', true),

  switching('disable', 'Disable a journey: no contact enters it; contacts in it continue', false),

  command({
    path: 'journeys test',
    summary: 'Show what a journey file would do with a contact: each step with its time; nothing is sent or changed',
    examples: [
      'svc journeys test -f welcome.yaml --contact ada@example.com',
      'svc journeys test -f welcome.yaml --contact ada@example.com --data plan=pro --json',
    ],
    flags: {
      file: needed('<file>', 'the file with one journey, or - for standard input', { short: '-f' }),
      contact: needed('<email>', 'an address in a list'),
      data: repeated('<name=value|@file>', 'data of the trigger: a field and its value, or a JSON file (repeatable)'),
    },
    run: async ({ app, out, trial }, { file, contact, data: given }) => {
      const { checkStepUrls, TriggerData } = await import('./journeys.ts')
      const { rehearse } = await import('./engine/rehearsal.ts')
      const { emailAddress } = await import('../lib/address.ts')
      const email = await parse(emailAddress(), contact, 'contact')
      const data = await parse(TriggerData, await readData(given), 'data')
      const documents = await readDocumentsOf(file)
      if (documents.length !== 1)
        throw new Problem('usage', `${file} must hold one journey, and holds ${number(documents.length)}`)
      const urlFaults = await checkStepUrls(app, documents)
      const sendMails = await app.journeyMails()
      const [document] = documents
      const { steps, ...rehearsal } = await trial((w) => rehearse(w, sendMails, { document, urlFaults, email, data }))
      await out.list('steps', steps, stepColumns, undefined, { beside: rehearsal, id: ({ step }) => step })
      out.note(
        `The run would end at ${out.time(rehearsal.endedAt)}: ${endText({ steps, ...rehearsal })}. Nothing was sent or changed.`,
      )
    },
  }),

  command({
    path: 'journeys trigger',
    summary:
      'Start a journey with the trigger api or manual for an address, or for every active contact of a list or segment',
    examples: [
      'svc journeys trigger Welcome --email ada@example.com --list Customers --data plan=pro',
      `svc journeys trigger Welcome --list Customers --where 'plan = pro' --yes`,
    ],
    arguments: [argument('<journey>', 'id or name')],
    flags: triggerFlags,
    run: (context, ref, flags) => {
      const isNarrowed = flags.where !== undefined || flags.segment !== undefined
      if (flags.email !== undefined && isNarrowed)
        throw new Problem('usage', "--email can't be combined with --where or --segment")
      if (flags.email === undefined && (flags.list !== undefined || isNarrowed)) return triggerMany(context, ref, flags)
      return triggerOne(context, ref, flags)
    },
  }),

  command({
    path: 'journeys runs',
    summary: 'List the runs of a journey, newest first, and why each ended',
    examples: [
      'svc journeys runs Welcome --status waiting',
      'svc journeys runs Welcome --run run_01m82xtxmmvg2qj0qr50gtn6ay',
    ],
    arguments: [argument('<journey>', 'id or name')],
    flags: {
      status: text('<status>', 'running, waiting, completed, exited, failed or cancelled', {
        of: async () => (await import('./definition/definition.schema.ts')).runStatuses,
      }),
      run: text('<id>', 'show this run with its completed steps'),
      ...paged,
    },
    run: async ({ out, pages, work }, ref, flags) => {
      const { findJourney, listRuns, RunRequest, showRun } = await import('./journeys.ts')
      const { id: journeyId } = await work((w) => findJourney(w, ref))
      if (flags.run !== undefined) {
        return out.one(await out.named(await work((w) => showRun(w, journeyId, flags.run!))))
      }
      const { status } = flags
      const load = async (page: PageRequest) => {
        const request = await parse(RunRequest, { journeyId, status, ...page })
        return work((w) => listRuns(w, request))
      }
      await pages('runs', flags, load, runColumns)
    },
  }),

  command({
    path: 'journeys end-run',
    summary: 'End a run as cancelled: it does no further step, and what it has not sent yet is not sent',
    examples: [
      'svc journeys end-run run_01m82xtxmmvg2qj0qr50gtn6ay',
      'svc journeys end-run run_01m82xtxmmvg2qj0qr50gtn6ay --dry-run',
    ],
    arguments: [argument('<run>', 'its id (svc journeys runs)')],
    flags: changing(),
    run: async ({ out, work }, id) => {
      const { endRun } = await import('./journeys.ts')
      out.one(await work((w) => endRun(w, id)))
    },
  }),

  command({
    path: 'journeys delete',
    summary: 'Delete a journey: its runs end as cancelled, and what it has not sent yet is not sent',
    examples: ['svc journeys delete Welcome --dry-run', 'svc journeys delete Welcome --yes'],
    arguments: [argument('<journey>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ app, actor, account, signal, out, work, confirm, withProgress }, ref, flags) => {
      const { countJourneyRemoval, deleteJourney, findJourney } = await import('./journeys.ts')
      const { id, name, ...planned } = await work(async (w) => {
        const { id, name } = await findJourney(w, ref)
        return { id, name, ...(await countJourneyRemoval(w, id)) }
      })
      const { cancelled: open, calls, emails } = planned
      const unsent = `${quantity(emails, 'email')} and ${quantity(calls, 'call')}`
      const what = `delete the journey ${name} and cancel ${quantity(open, 'open run')}, with ${unsent} not sent yet; no event fires`
      if (!(await confirm(what, flags, { id, name, ...planned }))) return
      const { id: accountId } = await account()
      const removed = await withProgress('runs', open, (onBatch) =>
        deleteJourney(app, accountId, id, { actor, signal, onBatch }),
      )
      if (signal.aborted)
        out.note('Stopped before the end. The journey is deleted; the jobs cancel the rest of its runs.')
      out.one({ id, name, ...removed })
    },
  }),
]

import { type Context, collectEarly } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { absent, argument, changing, confirmed, needed, paged, present, repeated, text, unasked } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, jsonText, properties } from '../cli/output.ts'
import { atFirstUse } from '../lib/at-first-use.ts'
import { type PageRequest, pageRequest } from '../lib/page-request.ts'
import { notFound, Problem, shown } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import type { Work } from '../store/work.ts'
import type { AccessView } from './access-log.ts'
import type { Narrow, ShownContact } from './contacts.find.ts'
import type { TimelineEntry } from './contacts.timeline.ts'
import { importCommand } from './imports/imports.commands.ts'
import { lists } from './lists/lists.commands.ts'

/** Returns the name of a contact, from the fields that imports and forms write it to. */
const nameOf = ({ fields }: ShownContact): string =>
  fields.name ?? [fields.first_name, fields.last_name].filter(Boolean).join(' ')

const contactColumns: Column<ShownContact>[] = [
  ['EMAIL', (contact) => contact.email],
  ['NAME', nameOf, 'terminal'],
  ['LIST', (contact) => contact.listName],
  ['STATUS', (contact) => contact.status],
  ['VERDICT', (contact) => contact.verification?.status, 'wide'],
  ['REASONS', (contact) => contact.verification?.reasons.join(', '), 'wide'],
  ...properties<ShownContact>('suppression', 'updatedAt'),
]

const accessColumns = properties<AccessView>('id', 'at', 'actor', 'email', 'listId', 'found')

/** `first_name=Ada` */
const fieldOf = (text: string): [string, string] => {
  const equals = text.indexOf('=')
  if (equals < 1) throw new Problem('usage', `--field ${shown(text)} is not name=value`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

const parseEmail = async (given: string): Promise<string> => {
  const { EmailInput } = await import('./contacts.fields.ts')
  return parse(EmailInput, given, 'email')
}

/** The command `svc contacts export --email`: prints one JSON document in every format, indented on a terminal. */
const exportPerson = async (
  { app, out, work }: Context,
  given: string,
  { list, where, segment, format }: Selection & { format?: string },
): Promise<void> => {
  if ([list, where, segment, format].some((flag) => flag !== undefined))
    throw new Problem('usage', '--email can not be combined with --list, --where, --segment or --format')
  const email = await parseEmail(given)
  const { withSuppression } = await import('./contacts.find.ts')
  const { readPerson } = await import('./contacts.personal-data.ts')
  const person = await work(async (w) => {
    const read = await readPerson(app, w, email)
    return { ...read, contacts: await withSuppression(app, w, read.contacts) }
  })
  out.line(jsonText(person, out.isTerminal && out.format === 'table' ? 2 : 0))
}

const dayFormat = atFirstUse(
  () => new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }),
)
const clockFormat = atFirstUse(
  () => new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
)

/** Returns columns that show each day only beside its first entry, for a person. */
const timelineColumns = (entries: readonly TimelineEntry[]): Column<TimelineEntry>[] => {
  const first = new Map<string, TimelineEntry>()
  for (const entry of entries) first.getOrInsert(dayFormat().format(entry.at), entry)
  return [
    ['DAY', (entry) => ofFirst(first, entry), 'terminal'],
    ['TIME', ({ at }) => clockFormat().format(at), 'terminal'],
    ['AT', ({ at }) => new Date(at), 'pipe'],
    ['KIND', ({ kind }) => kind],
    ['TITLE', ({ title }) => title],
    ['ID', ({ id }) => id],
  ]
}

const ofFirst = (first: ReadonlyMap<string, TimelineEntry>, entry: TimelineEntry): string => {
  const day = dayFormat().format(entry.at)
  return first.get(day) === entry ? day : ''
}

/** The command `svc contacts show --timeline`. */
const showTimeline = async ({ app, out, work }: Context, given: string, limit: string | undefined): Promise<void> => {
  const { withSuppression } = await import('./contacts.find.ts')
  const { readTimeline } = await import('./contacts.timeline.ts')
  const { limit: most } = pageRequest(limit === undefined ? {} : { limit })
  const email = await parseEmail(given)
  const { contacts, timeline } = await work(async (w) => {
    const read = await readTimeline(app, w, email, most)
    return { ...read, contacts: await withSuppression(app, w, read.contacts) }
  })
  await out.list('timeline', timeline, timelineColumns(timeline), null, { beside: { contacts }, called: 'entries' })
  if (timeline.length === most && most < 1_000 && out.isTerminal)
    out.note(`The newest ${quantity(most, 'entry', 'entries')}: --limit shows more.`)
}

/** The flags that select contacts. */
interface Selection {
  list?: string
  where?: string
  segment?: string
}

const verify = async (
  context: Context,
  given: string | undefined,
  list: string | undefined,
  dryRun = false,
): Promise<void> => {
  const { app, actor, work, account, out, signal, withProgress } = context
  if ((given === undefined) === (list === undefined)) throw new Problem('usage', 'Name an address or --list')
  const { exportContacts, showContact } = await import('./contacts.find.ts')
  const { findList } = await import('./lists/lists.ts')
  const { isInconclusive } = await import('./verification/result.ts')
  const { reverify } = await import('./verification/reverify.ts')
  const { id: accountId } = await account()
  const counts = { verified: 0, valid: 0, risky: 0, invalid: 0, unknown: 0 }
  let inconclusive = 0
  const verifyAgain = async (emails: readonly string[]) => {
    for (const verification of await reverify(app, accountId, actor, emails, { isPatient: true, signal })) {
      counts.verified++
      counts[verification.status]++
      inconclusive += Number(isInconclusive(verification))
    }
  }
  const planned = (addresses: number) => {
    out.one({ dryRun, addresses })
    out.note('Nothing was changed.')
  }
  if (given !== undefined) {
    const email = await parseEmail(given)
    await work((w) => showContact(w, email))
    if (dryRun) return planned(1)
    await verifyAgain([email])
  } else {
    const { id, rowCount } = await work((w) => findList(w, list!))
    if (dryRun) return planned(rowCount)
    await withProgress('addresses', rowCount, async (onRows) => {
      for await (const contacts of exportContacts(app, accountId, id)) {
        await verifyAgain(contacts.map((contact) => contact.email))
        onRows(counts.verified)
        if (signal.aborted) break
      }
    })
  }
  if (inconclusive > 0) out.note(`DNS gave no answer for ${inconclusive} of them: earlier results stay`)
  out.one(counts)
}

/** The commands `svc lists`, `svc contacts` and `svc access-log`. */
export const commandsOf = (narrow: Narrow): CommandList => [
  ...lists,

  command({
    path: 'contacts list',
    isDefault: true,
    summary: 'List contacts by address, or those of a list, oldest first',
    examples: [
      'svc contacts list --list Customers --limit 200',
      `svc contacts list --list Customers --where 'plan = pro and opened < 30d'`,
    ],
    flags: {
      list: text('<id|name>', 'only contacts of this list'),
      where: text('<filter>', 'only contacts that meet this filter'),
      segment: text('<id|name>', 'only contacts of this segment'),
      ...paged,
    },
    run: async ({ app, pages, work }, flags) => {
      const { listContacts, withSuppression } = await import('./contacts.find.ts')
      // Compiled once: ages are relative to one time on all pages.
      const selected = await work((w) => narrow(w, flags))
      const load = (page: PageRequest) =>
        work(async (w) => {
          const found = await listContacts(w, { ...page, ...selected })
          return { ...found, rows: await withSuppression(app, w, found.rows) }
        })
      await pages('contacts', flags, load, contactColumns)
    },
  }),

  command({
    path: 'contacts show',
    summary: 'Show an address in each of its lists, or what it did and received',
    examples: [
      'svc contacts show ada@example.com --json',
      'svc contacts show ada@example.com --timeline',
      'svc contacts show ada@example.com --timeline --limit 500 --json',
    ],
    arguments: [argument('<email>')],
    flags: {
      timeline: present('show emails, answers, bookings, deals, journeys and more instead, newest first'),
      limit: text('<n>', 'with --timeline: entries to show, 1 to 1000 (default: 50)'),
    },
    run: async (context, given, { timeline, limit }) => {
      if (timeline) return showTimeline(context, given, limit)
      if (limit !== undefined) throw new Problem('usage', '--limit requires --timeline')
      const { app, out, work } = context
      const { showContact, withSuppression } = await import('./contacts.find.ts')
      const email = await parseEmail(given)
      const contacts = await work(async (w) => withSuppression(app, w, await showContact(w, email)))
      if (out.format === 'table' && !out.fields && contacts.length > 0) {
        for (const [i, contact] of contacts.entries()) {
          if (i > 0) out.line('')
          out.one(await out.named(contact))
        }
        return
      }
      await out.list('contacts', contacts, [
        ...contactColumns,
        [
          'FIELDS',
          ({ fields }) =>
            Object.entries(fields)
              .map(([name, value]) => `${name}=${value}`)
              .join(', '),
        ],
      ])
    },
  }),

  command({
    path: 'contacts export',
    summary: 'Write a list to stdout as CSV or JSON, or all personal data about an address',
    examples: [
      'svc contacts export --list Customers > customers.csv',
      `svc contacts export --list Customers --where 'deal.status = won' > buyers.csv`,
      'svc contacts export --email ada@example.com > ada.json',
    ],
    flags: {
      list: text('<id|name>', 'the list'),
      where: text('<filter>', 'only contacts of the list that meet this filter'),
      segment: text('<id|name>', 'the contacts of this segment'),
      email: text('<email>', 'export all personal data about this address instead, as JSON'),
      format: text('<csv|jsonl>', 'output format (default: csv, or as set by --json or --jsonl)', {
        of: ['csv', 'jsonl'],
      }),
      safe: present("put ' before CSV cells that a spreadsheet would run as formulas; the default on a terminal"),
      raw: present('write cells as they are stored; the default in a pipe or a file'),
    },
    before: collectEarly,
    run: async (context, flags) => {
      const { app, out, work, require, account, withProgress, signal } = context
      if (flags.email !== undefined) return exportPerson(context, flags.email, flags)
      if (flags.segment === undefined) await require(flags, 'list')
      const given = out.format === 'json' || out.format === 'jsonl' ? out.format : 'csv'
      const format = flags.format ?? given
      if (format !== 'csv' && format !== 'jsonl' && format !== 'json')
        throw new Problem('usage', '--format must be csv or jsonl')
      if (flags.safe && format !== 'csv') throw new Problem('usage', '--safe requires CSV')
      if (flags.safe && flags.raw) throw new Problem('usage', "--safe can't be combined with --raw")
      const { findList } = await import('./lists/lists.ts')
      const { writeExport } = await import('./contacts.export.ts')
      const { list, condition } = await work(async (w) => {
        const selected = await narrow(w, flags)
        return { list: await findList(w, selected.list!), condition: selected.condition }
      })
      // On a terminal the printed rows show the progress.
      const { id: accountId } = await account()
      const options = { signal, isSafe: flags.safe ?? (out.isTerminal && !flags.raw), condition }
      const write = (onRows?: (rows: number) => void) =>
        writeExport(app, accountId, list, format, out.sink(), { ...options, onRows })
      await (out.isTerminal ? write() : withProgress('contacts', condition ? null : list.rowCount, write))
    },
  }),

  command({
    path: 'contacts upsert',
    summary: 'Add a contact to a list, or change its fields',
    examples: [
      'svc contacts upsert --list Customers --email ada@example.com --field first_name=Ada',
      'svc contacts upsert --list Customers --email ada@example.com --no-events',
    ],
    flags: {
      list: needed('<id|name>', 'the list'),
      email: needed('<email>', 'the address'),
      field: repeated('<name=value>', 'a field to set, repeatable; other fields stay'),
      events: absent('do not fire contact.created and contact.updated'),
      ...changing(),
    },
    run: async ({ app, actor, out, work, account }, flags) => {
      const { normalizeFields } = await import('./contacts.fields.ts')
      const { findList } = await import('./lists/lists.ts')
      const { upsertContact } = await import('./write/upsert.ts')
      const fields = normalizeFields(Object.fromEntries(flags.field.map(fieldOf)))
      const email = await parseEmail(flags.email)
      const list = await work((w) => findList(w, flags.list))
      const write = { listId: list.id, email, fields }
      const { events } = flags
      const { contact, ...counts } = await upsertContact(app, (await account()).id, actor, write, { events })
      const { fields: values, verification, ...shown } = contact
      if (out.format === 'ids') return out.line(contact.rowId)
      out.one({ ...counts, contact }, { ...counts, ...shown, verification: verification?.status, ...values })
    },
  }),

  command({
    path: 'contacts verify',
    summary: 'Verify an address or a whole list again, with cached DNS answers where they are still valid',
    examples: ['svc contacts verify ada@example.com', 'svc contacts verify --list Customers'],
    arguments: [argument('[email]')],
    flags: {
      list: text('<id|name>', 'verify every address of this list'),
      ...unasked('count the addresses, and verify none'),
    },
    run: (context, email, flags) => verify(context, email, flags.list, flags.dryRun),
  }),

  command({
    path: 'contacts remove',
    summary: 'Remove an address from one list; from its last list it leaves the account. No event fires',
    examples: [
      'svc contacts remove ada@example.com --list Customers --dry-run',
      'svc contacts remove ada@example.com --list Customers --yes',
    ],
    arguments: [argument('<email>')],
    flags: { list: needed('<id|name>', 'the list'), ...confirmed('show what would be removed') },
    run: async ({ out, work, trial, confirm }, given, flags) => {
      const { findList } = await import('./lists/lists.ts')
      const { leaveList, leavingEffects } = await import('./write/remove.ts')
      const email = await parseEmail(given)
      const list = await work((w) => findList(w, flags.list))
      const remove = async (w: Work) => {
        const removed = await leaveList(w, list.id, email)
        if (!removed) throw notFound(`${shown(email)} is not in the list ${shown(list.name)}`)
        const { deals, runs } = w.state(leavingEffects)
        return {
          email,
          listId: list.id,
          ...removed,
          ...(deals.length > 0 && { deals }),
          ...(runs.length > 0 && { runs }),
        }
      }
      const planned = await trial(remove)
      const rest = planned.addresses > 0 ? 'its last one, so it leaves the account' : 'it stays in its other lists'
      const { deals = [], runs = [] } = planned
      const effects = [
        rest,
        ...(deals.length > 0 ? [`${quantity(deals.length, 'deal')} will name another list`] : []),
        ...(runs.length > 0 ? [`${quantity(runs.length, 'journey run')} will end`] : []),
        'no event fires',
      ]
      if (!(await confirm(`remove ${email} from the list ${list.name}; ${effects.join('; ')}`, flags, planned))) return
      out.one(await work(remove))
    },
  }),

  command({
    path: 'contacts erase',
    summary:
      'Erase an address from all lists, messages, events, deals and import rejects, with its verification result',
    examples: ['svc contacts erase ada@example.com --dry-run', 'svc contacts erase ada@example.com --yes'],
    arguments: [argument('<email>')],
    flags: confirmed('show what would be deleted'),
    run: async ({ app, out, work, confirm }, given, flags) => {
      const personalData = await app.personalData()
      const { countPersonalData } = await import('./contacts.personal-data.ts')
      const { eraseContact } = await import('./write/remove.ts')
      const email = await parseEmail(given)
      const planned = await work((w) => eraseContact(w, email, { dryRun: true, personalData }))
      const what = `erase ${email} from ${quantity(planned.contacts, 'list')} and ${quantity(planned.rejects, 'import reject')}, and blank it in messages, events, deals and journeys; pending messages and deliveries are cancelled; no event fires`
      const held = flags.dryRun && { held: await work((w) => countPersonalData(personalData, w, email)) }
      if (!(await confirm(what, flags, { ...planned, ...held }))) return
      out.one(await work((w) => eraseContact(w, email, { dryRun: false, personalData })))
    },
  }),

  importCommand,

  command({
    path: 'access-log list',
    isDefault: true,
    summary: 'List reads of contacts by API keys, newest first',
    examples: ['svc access-log', 'svc access-log list --jsonl > access.jsonl'],
    flags: paged,
    run: async ({ pages, work }, flags) => {
      const { listAccess } = await import('./access-log.ts')
      await pages('accessLog', flags, (page) => work((w) => listAccess(w, page)), accessColumns, { called: 'entries' })
    },
  }),
]

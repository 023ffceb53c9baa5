import type { Command } from 'commander'
import { type Cli, type CommandSet, type Context, gather, paged } from '../cli/command.ts'
import { collectEarly } from '../cli/memory.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { AccessView, Contact } from './contacts.ts'
import { addImport } from './imports.commands.ts'
import { lists } from './lists.commands.ts'

const contactColumns: Column<Contact>[] = [
  ['EMAIL', (contact) => contact.email],
  ['LIST', (contact) => contact.listName],
  ['STATUS', (contact) => contact.status],
  ['VERDICT', (contact) => contact.verification?.status],
  ['REASONS', (contact) => contact.verification?.reasons.join(', ')],
  ['UPDATED', (contact) => new Date(contact.updatedAt)],
]

const accessColumns: Column<AccessView>[] = [
  ['ID', (entry) => entry.id],
  ['AT', (entry) => new Date(entry.at)],
  ['ACTOR', (entry) => entry.actor],
  ['EMAIL', (entry) => entry.email],
  ['LIST', (entry) => entry.listId],
  ['FOUND', (entry) => entry.found],
]

/** `first_name=Ada` */
const fieldOf = (text: string): [string, string] => {
  const equals = text.indexOf('=')
  if (equals < 1) throw new Problem('usage', `--field ${text} is not name=value`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

const parseEmail = async (given: string): Promise<string> => {
  const [{ EmailInput }, { parse }, { z }] = await Promise.all([
    import('./contacts.ts'),
    import('../lib/parse.ts'),
    import('zod'),
  ])
  return parse(z.object({ email: EmailInput }), { email: given }).email
}

/** `svc contacts export --email`: in every format one JSON, spread over lines where a person looks at it. */
const exportPerson = async (
  { app, out, work }: Context,
  given: string,
  { list, format }: { list?: string; format?: string },
): Promise<void> => {
  if (list !== undefined || format !== undefined) throw new Problem('usage', '--email goes without --list and --format')
  const email = await parseEmail(given)
  const { readPerson } = await import('./contacts.ts')
  const person = await work((w) => readPerson(app, w, email))
  out.line(JSON.stringify(person, null, out.isTerminal && out.format === 'table' ? 2 : 0))
}

const addReads = (noun: Command, cli: Cli): void => {
  paged(
    noun
      .command('list', { isDefault: true })
      .description('List contacts, by address; those of one list oldest first')
      .option('--list <id|name>', 'those of this list'),
  ).action(
    cli.run(async ({ pages, work }, flags: PageFlags & { list?: string }) => {
      const { listContacts } = await import('./contacts.ts')
      const load = (page: PageRequest) => work((w) => listContacts(w, { ...page, list: flags.list }))
      await pages('contacts', flags, load, contactColumns)
    }),
  )

  noun
    .command('show')
    .description('Show an address in each of its lists')
    .argument('<email>')
    .action(
      cli.run(async ({ out, work }, given: string) => {
        const { showContact } = await import('./contacts.ts')
        const email = await parseEmail(given)
        const contacts = await work((w) => showContact(w, email))
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
      }),
    )

  noun
    .command('export')
    .hook('preAction', collectEarly)
    .description(
      'Write a list to stdout: CSV that an import takes back, or a JSON object a line; or all about a person',
    )
    .option('--list <id|name>', 'the list')
    .option('--email <email>', 'instead: everything that is held about an address, as one JSON')
    .option('--format <csv|jsonl>', 'csv, unless --json or --jsonl says otherwise')
    .action(
      cli.run(async (context, flags: { list?: string; format?: string; email?: string }) => {
        const { app, out, work, require, account, progress, signal } = context
        if (flags.email !== undefined) return exportPerson(context, flags.email, flags)
        const { list: ref } = await require({ list: flags.list })
        const given = out.format === 'json' || out.format === 'jsonl' ? out.format : 'csv'
        const format = flags.format ?? given
        if (format !== 'csv' && format !== 'jsonl' && format !== 'json')
          throw new Problem('usage', '--format must be csv or jsonl')
        const [{ findList }, { writeExport }] = await Promise.all([
          import('./contacts.ts'),
          import('./contacts.export.ts'),
        ])
        const list = await work((w) => findList(w, ref))
        // On a terminal the rows themselves show how far it is.
        const bar = out.isTerminal ? null : progress('contacts')
        const onRows = (rows: number) => bar?.update({ rows, fraction: Math.min(1, rows / Math.max(list.rowCount, 1)) })
        const { id: accountId } = await account()
        await writeExport(app, accountId, list, format, process.stdout, { signal, onRows }).finally(() => bar?.stop())
      }),
    )
}

const addWrites = (noun: Command, cli: Cli): void => {
  noun
    .command('upsert')
    .description('Add a contact to a list, or change its fields')
    .option('--list <id|name>', 'the list')
    .option('--email <email>', 'the address')
    .option('--field <name=value>', 'a field, as often as needed; the others stay', gather, [])
    .action(
      cli.run(async (context, flags: { list?: string; email?: string; field: string[] }) => {
        const { app, actor, out, require, work, account } = context
        const given = await require({ list: flags.list, email: flags.email })
        const { findList, normalizeFields, upsertContact } = await import('./contacts.ts')
        const fields = normalizeFields(Object.fromEntries(flags.field.map(fieldOf)))
        const email = await parseEmail(given.email)
        const list = await work((w) => findList(w, given.list))
        const { contact, ...counts } = await upsertContact(app, (await account()).id, actor, {
          listId: list.id,
          email,
          fields,
        })
        const { fields: held, verification, ...shown } = contact
        if (out.format === 'ids') return out.line(contact.rowId)
        out.one({ ...counts, contact }, { ...counts, ...shown, verification: verification?.status, ...held })
      }),
    )

  noun
    .command('verify')
    .description('Verify an address or a whole list again, as far as the DNS cache has forgotten it')
    .argument('[email]')
    .option('--list <id|name>', 'every address of this list')
    .action(
      cli.run((context, email: string | undefined, flags: { list?: string }) => verify(context, email, flags.list)),
    )

  noun
    .command('erase')
    .description('Erase an address from all lists, messages, deals and import rejects, with its verdict')
    .argument('<email>')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would go')
    .action(
      cli.run(async ({ app, out, work, confirm }, given: string, flags: { yes?: boolean; dryRun?: boolean }) => {
        const { heldAbout } = app
        const { countHeld, eraseContact } = await import('./contacts.ts')
        const email = await parseEmail(given)
        const planned = await work((w) => eraseContact(w, email, { dryRun: true, heldAbout }))
        const what = `erase ${email} from ${planned.contacts} lists and ${planned.rejects} import rejects, and blank it in messages, deals and journeys; what waits to be sent to it is cancelled; no event fires`
        const held = flags.dryRun && { held: await work((w) => countHeld(heldAbout, w, email)) }
        if (!(await confirm(what, flags, { ...planned, ...held }))) return
        out.one(await work((w) => eraseContact(w, email, { dryRun: false, heldAbout })))
      }),
    )
}

const verify = async (context: Context, given: string | undefined, list: string | undefined): Promise<void> => {
  const { app, actor, work, account, out, progress, signal } = context
  if ((given === undefined) === (list === undefined)) throw new Problem('usage', 'Name an address or --list')
  const { exportContacts, findList, isDoubtful, reverify, showContact } = await import('./contacts.ts')
  const { id: accountId } = await account()
  const counts = { verified: 0, valid: 0, risky: 0, invalid: 0, unknown: 0 }
  let doubtful = 0
  const judge = async (emails: readonly string[]) => {
    for (const verdict of await reverify(app, accountId, actor, emails, { isPatient: true, signal })) {
      counts.verified++
      counts[verdict.status]++
      doubtful += Number(isDoubtful(verdict))
    }
  }
  if (given !== undefined) {
    const email = await parseEmail(given)
    await work((w) => showContact(w, email))
    await judge([email])
  } else {
    const { id, rowCount } = await work((w) => findList(w, list!))
    const bar = progress('addresses')
    try {
      for await (const contacts of exportContacts(app, accountId, id)) {
        await judge(contacts.map((contact) => contact.email))
        bar.update({ rows: counts.verified, fraction: Math.min(1, counts.verified / Math.max(rowCount, 1)) })
        if (signal.aborted) break
      }
    } finally {
      bar.stop()
    }
  }
  if (doubtful > 0) out.note(`DNS gave no answer for ${doubtful} of them: a verdict from before stays as it is`)
  out.one(counts)
}

const accessLog: CommandSet = (cli) => {
  const noun = cli.noun('access-log')
  paged(
    noun.command('list', { isDefault: true }).description('List reads of contacts by API keys, newest first'),
  ).action(
    cli.run(async ({ pages, work }, flags: PageFlags) => {
      const { listAccess } = await import('./contacts.ts')
      await pages('accessLog', flags, (page) => work((w) => listAccess(w, page)), accessColumns)
    }),
  )
}

export const commands: CommandSet = (cli) => {
  lists(cli)
  const noun = cli.noun('contacts')
  addReads(noun, cli)
  addWrites(noun, cli)
  addImport(noun, cli)
  accessLog(cli)
}

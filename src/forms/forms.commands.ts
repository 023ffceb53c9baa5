import type { Command } from 'commander'
import { type Cli, type CommandSet, gather } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import { readSource } from '../cli/source.ts'
import { Problem } from '../lib/problem.ts'
import type { AppliedForm, FormView } from './forms.ts'

const columns: Column<FormView>[] = [
  ['ID', (form) => form.id],
  ['NAME', (form) => form.name],
  ['LIST', (form) => form.listId],
  ['FIELDS', (form) => form.fields.map(({ name }) => name).join(', ')],
  ['DOUBLE OPT-IN', (form) => (form.doubleOptIn ? 'yes' : 'no')],
  ['URL', (form) => form.url],
]

const appliedColumns: Column<AppliedForm>[] = [
  ['ID', (form) => form.id],
  ['NAME', (form) => form.name],
  ['OUTCOME', (form) => form.outcome],
]

interface CreateFlags {
  name?: string
  list?: string
  field: string[]
  doubleOptIn?: boolean
  origin: string[]
}

const addCreate = (noun: Command, cli: Cli): void => {
  noun
    .command('create')
    .description('Create a signup form; apply takes one with labels, types and required fields')
    .option('--name <name>', 'its name, unique in the account; people read it on the page')
    .option('--list <id|name>', 'the list that people come into')
    .option('--field <name>', 'what it asks for beside the email address, as often as needed', gather, [])
    .option('--double-opt-in', 'who signs up is pending until the link in a mail is confirmed')
    .option('--origin <url>', 'a site whose scripts may post to it, as often as needed', gather, [])
    .action(
      cli.run(async ({ app, out, require, work }, flags: CreateFlags) => {
        const { name, list } = await require({ name: flags.name, list: flags.list })
        const [{ createForm, FormFile, viewForm }, { parse }] = await Promise.all([
          import('./forms.ts'),
          import('../lib/parse.ts'),
        ])
        const { field: fields, origin: origins, doubleOptIn = false } = flags
        const file = parse(FormFile, { name, list, fields, doubleOptIn, origins })
        out.one(viewForm(await work((w) => createForm(w, file)), app.config.publicUrl))
      }),
    )
}

const addApply = (noun: Command, cli: Cli): void => {
  noun
    .command('apply')
    .description('Make forms of a JSON or YAML file, or change them: by id where it has one, else by name')
    .option('-f, --file <file>', 'the file, or - for standard input; several documents are applied all or nothing')
    .option('--dry-run', 'check the file and say what would change')
    .action(
      cli.run(async ({ app, out, work, require }, flags: { file?: string; dryRun?: boolean }) => {
        const { file } = await require({ file: flags.file })
        const [{ applyForms, viewForm }, { maxFileBytes, readDocuments }] = await Promise.all([
          import('./forms.ts'),
          import('../lib/documents.ts'),
        ])
        const documents = readDocuments(await readSource(file, maxFileBytes))
        const { dryRun } = flags
        const applied = await work((w) => applyForms(w, documents, { dryRun: dryRun ?? false }))
        const shown = applied.map((form) => {
          const view = viewForm({ ...form, id: form.id ?? '' }, app.config.publicUrl)
          // What is not made yet has no place.
          return { ...view, ...(form.id === null && { id: null, url: null }), outcome: form.outcome }
        })
        if (shown.length === 1) out.one({ ...shown[0]!, ...(dryRun && { dryRun }) })
        else await out.list('forms', shown as AppliedForm[], appliedColumns)
        if (dryRun) out.note('Nothing was changed.')
      }),
    )
}

const addReads = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the signup forms, by name')
    .action(
      cli.run(async ({ app, out, work }) => {
        const { listForms, viewForm } = await import('./forms.ts')
        const forms = await work(listForms)
        await out.list(
          'forms',
          forms.map((form) => viewForm(form, app.config.publicUrl)),
          columns,
        )
      }),
    )

  noun
    .command('show')
    .description('Show a signup form')
    .argument('<form>', 'id or name')
    .action(
      cli.run(async ({ app, out, work }, ref: string) => {
        const { findForm, viewForm } = await import('./forms.ts')
        out.one(viewForm(await work((w) => findForm(w, ref)), app.config.publicUrl))
      }),
    )
}

/** `first_name=Ada` */
const fieldOf = (text: string): [string, string] => {
  const equals = text.indexOf('=')
  if (equals < 1) throw new Problem('usage', `--field ${text} is not name=value`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

const addSubmit = (noun: Command, cli: Cli): void => {
  noun
    .command('submit')
    .description('Submit a form, as its page does')
    .argument('<form>', 'id or name')
    .option('--email <email>', 'the address')
    .option('--field <name=value>', 'a field, as often as needed', gather, [])
    .action(
      cli.run(async (context, ref: string, flags: { email?: string; field: string[] }) => {
        const { app, out, actor, account, require, work } = context
        const { email } = await require({ email: flags.email })
        const given = Object.fromEntries(flags.field.map(fieldOf))
        const { demandSubmission, findForm, submitForm } = await import('./forms.ts')
        const form = await work((w) => findForm(w, ref))
        for (const name of Object.keys(given))
          if (!form.fields.some((field) => field.name === name))
            out.note(`The form does not ask for ${name}: it is left out.`)
        const { fields, email: address } = demandSubmission(form, { ...given, email })
        const submission = { email: address, fields, isTrapped: false }
        const status = await submitForm(app, { accountId: (await account()).id, actor }, form.id, submission)
        out.one({ ok: true, status })
      }),
    )
}

const addDelete = (noun: Command, cli: Cli): void => {
  noun
    .command('delete')
    .description('Delete a form; its list and its contacts stay, and links that were mailed still confirm')
    .argument('<form>', 'id or name')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would go')
    .action(
      cli.run(async ({ out, work, confirm }, ref: string, flags: { yes?: boolean; dryRun?: boolean }) => {
        const { deleteForm, findForm } = await import('./forms.ts')
        const { id, name } = await work((w) => findForm(w, ref))
        const isMeant = await confirm(`delete the form ${name}; its list and its contacts stay`, flags, { id, name })
        if (!isMeant) return
        await work((w) => deleteForm(w, id))
        out.one({ id, name })
      }),
    )
}

/** `svc forms` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('forms')
  addCreate(noun, cli)
  addApply(noun, cli)
  addReads(noun, cli)
  addSubmit(noun, cli)
  addDelete(noun, cli)
}

import type { Command } from 'commander'
import { type Cli, type CommandSet, type Confirmation, changing, confirmed, examples, gather } from '../cli/command.ts'
import { readSource } from '../cli/input.ts'
import { type Column, printWithCounts } from '../cli/output.ts'
import { Problem, shown } from '../lib/problem.ts'
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
    .description('Create a signup form (for labels, types and required fields use svc forms apply)')
    .addHelpText(
      'after',
      examples(
        'svc forms create --name Newsletter --list Customers --field first_name --double-opt-in',
        'svc forms create --name Embedded --list Customers --origin https://shop.example',
      ),
    )
    .option('--name <name>', 'its name, unique in the account and shown on its page')
    .option('--list <id|name>', 'the list that contacts are added to')
    .option('--field <name>', 'a field beside the email address (repeatable)', gather, [])
    .option('--double-opt-in', 'keep contacts pending until they confirm by the link in an email')
    .option('--origin <url>', 'a site whose scripts may post to it (repeatable)', gather, [])
    .action(
      cli.run(async ({ app, out, require, work }, flags: CreateFlags) => {
        const { name, list } = await require(flags, 'name', 'list')
        const [{ createForm, FormFile, viewForm }, { parse }] = await Promise.all([
          import('./forms.ts'),
          import('../lib/parse.ts'),
        ])
        const { field: fields, origin: origins, doubleOptIn = false } = flags
        const file = parse(FormFile, { name, list, fields, doubleOptIn, origins })
        // Read before anything is written: it throws if this process would make other links than the daemon.
        const { publicUrl } = app.config
        out.one(await out.named(viewForm(await work((w) => createForm(w, file)), publicUrl)))
      }),
    )
}

/** Returns the values of a flag that replaces all earlier ones; undefined if it was not given. `none` removes them. */
const replacing = (flag: string, values: readonly string[]): readonly string[] | undefined => {
  if (values.length === 0) return undefined
  if (!values.includes('none')) return values
  if (values.length > 1) throw new Problem('usage', `--${flag} none can't be combined with others`)
  return []
}

interface UpdateFlags {
  name?: string
  list?: string
  field: string[]
  doubleOptIn?: string
  origin: string[]
}

const addUpdate = (noun: Command, cli: Cli): void => {
  changing(
    noun
      .command('update')
      .description('Change a signup form; what is not named stays')
      .addHelpText(
        'after',
        examples(
          'svc forms update Newsletter --field first_name --field city --double-opt-in yes',
          'svc forms update Newsletter --list Customers --origin none --dry-run',
        ),
      )
      .argument('<form>', 'id or name')
      .option('--name <name>', 'its name, unique in the account and shown on its page')
      .option('--list <id|name>', 'the list that contacts are added to from now on')
      .option(
        '--field <name>',
        'all of its fields (repeatable; none: no field); known ones keep their type',
        gather,
        [],
      )
      .option('--double-opt-in <yes|no>', 'whether contacts are pending until they confirm by the link in an email')
      .option('--origin <url>', 'all sites whose scripts may post to it (repeatable; none: no site)', gather, []),
  ).action(
    cli.run(async ({ app, out, work }, ref: string, flags: UpdateFlags) => {
      const { name, list, doubleOptIn: confirms } = flags
      const [fields, origins] = [replacing('field', flags.field), replacing('origin', flags.origin)]
      if (confirms !== undefined && confirms !== 'yes' && confirms !== 'no')
        throw new Problem('usage', '--double-opt-in must be yes or no')
      const doubleOptIn = confirms === undefined ? undefined : confirms === 'yes'
      const change = { name, list, fields, origins, doubleOptIn }
      if (Object.values(change).every((value) => value === undefined))
        throw new Problem('usage', 'Give at least one of --name, --list, --field, --double-opt-in, --origin')
      const { updateForm, viewForm } = await import('./forms.ts')
      // Read before anything is written: it throws if this process would make other links than the daemon.
      const { publicUrl } = app.config
      out.one(await out.named(viewForm(await work((w) => updateForm(w, ref, change)), publicUrl)))
    }),
  )
}

const addApply = (noun: Command, cli: Cli): void => {
  noun
    .command('apply')
    .description('Create or update forms from a JSON or YAML file, matched by id or else by name')
    .addHelpText('after', examples('svc forms apply -f form.yaml --dry-run', 'svc forms apply -f - < form.yaml'))
    .option('-f, --file <file>', 'the file, or - for standard input; several documents are applied all or nothing')
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'check the file and show what would change')
    .action(
      cli.run(async ({ app, out, work, require }, flags: { file?: string; dryRun?: boolean }) => {
        const { file } = await require(flags, 'file')
        const [{ applyForms, viewForm }, { maxFileBytes, readDocuments }] = await Promise.all([
          import('./forms.ts'),
          import('../lib/documents.ts'),
        ])
        const documents = readDocuments(await readSource(file, maxFileBytes))
        const { dryRun } = flags
        // Read before anything is written: it throws if this process would make other links than the daemon.
        const { publicUrl } = app.config
        const applied = await work((w) => applyForms(w, documents, { dryRun: dryRun ?? false }))
        const shown = applied.map((form) => {
          const view = viewForm({ ...form, id: form.id ?? '' }, publicUrl)
          // A form that a dry run would create has no URL yet.
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
    .addHelpText('after', examples('svc forms', 'svc forms list --json'))
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
    .addHelpText('after', examples('svc forms show Newsletter', 'svc forms show Newsletter --stats'))
    .argument('<form>', 'id or name')
    .option('--stats', 'also show its submissions, confirmations and people by day')
    .action(
      cli.run(async ({ app, out, work }, ref: string, { stats }: { stats?: boolean }) => {
        const { findForm, formStats, viewForm } = await import('./forms.ts')
        const view = viewForm(await work((w) => findForm(w, ref)), app.config.publicUrl)
        if (!stats) return out.one(await out.named(view))
        printWithCounts(out, await out.named(view), await work((w) => formStats(w, view.id)), [
          'submissions',
          'confirmed',
          'people',
        ])
      }),
    )
}

/** Parses `first_name=Ada`. */
const fieldOf = (text: string): [string, string] => {
  const equals = text.indexOf('=')
  if (equals < 1) throw new Problem('usage', `--field ${shown(text)} is not name=value`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

const addSubmit = (noun: Command, cli: Cli): void => {
  noun
    .command('submit')
    .description('Submit a form, as its hosted page does')
    .addHelpText(
      'after',
      examples(
        'svc forms submit Newsletter --email ada@example.com',
        'svc forms submit Newsletter --email ada@example.com --field first_name=Ada',
      ),
    )
    .argument('<form>', 'id or name')
    .option('--email <email>', 'the email address')
    .option('--field <name=value>', 'a field (repeatable)', gather, [])
    .action(
      cli.run(async (context, ref: string, flags: { email?: string; field: string[] }) => {
        const { app, out, actor, account, require, work } = context
        const { email } = await require(flags, 'email')
        const given = Object.fromEntries(flags.field.map(fieldOf))
        const { requireSubmission, findForm, submitForm } = await import('./forms.ts')
        const form = await work((w) => findForm(w, ref))
        for (const name of Object.keys(given))
          if (!form.fields.some((field) => field.name === name))
            out.note(`Ignored ${name}: the form has no such field.`)
        const { fields, email: address } = requireSubmission(form, { ...given, email })
        const submission = { email: address, fields, isHoneypotFilled: false }
        const status = await submitForm(app, { accountId: (await account()).id, actor }, form.id, submission)
        out.one({ ok: true, status })
      }),
    )
}

const addDelete = (noun: Command, cli: Cli): void => {
  confirmed(
    noun
      .command('delete')
      .description('Delete a form; its list and its contacts stay, and links in sent emails still confirm')
      .addHelpText('after', examples('svc forms delete Newsletter --dry-run', 'svc forms delete Newsletter --yes'))
      .argument('<form>', 'id or name'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ account, app, out, work, confirm }, ref: string, flags: Confirmation) => {
      const { deleteForm, findForm, forgetPeople } = await import('./forms.ts')
      const { id, name } = await work((w) => findForm(w, ref))
      const isMeant = await confirm(`delete the form ${name}; its list and its contacts stay`, flags, { id, name })
      if (!isMeant) return
      await work((w) => deleteForm(w, id))
      await forgetPeople(app, (await account()).id, id)
      out.one({ id, name })
    }),
  )
}

/** Adds `svc forms`. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('forms')
  addCreate(noun, cli)
  addUpdate(noun, cli)
  addApply(noun, cli)
  addReads(noun, cli)
  addSubmit(noun, cli)
  addDelete(noun, cli)
}

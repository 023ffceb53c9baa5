import { type CommandList, command } from '../cli/define.ts'
import { applying, argument, changing, confirmed, needed, present, repeated, text } from '../cli/flags.ts'
import { parse, readDocumentsOf } from '../cli/input.ts'
import { type Column, printApplied, printWithCounts, properties } from '../cli/output.ts'
import { Problem, shown } from '../lib/problem.ts'
import type { AppliedForm, FormView } from './forms.ts'

const columns: Column<FormView>[] = [
  ...properties<FormView>('id', 'name', 'listId'),
  ['FIELDS', (form) => form.fields.map(({ name }) => name).join(', ')],
  ['DOUBLE OPT-IN', (form) => (form.doubleOptIn ? 'yes' : 'no')],
  ['URL', (form) => form.url],
]

const appliedColumns = properties<AppliedForm>('id', 'name', 'outcome')

/** Returns the values of a flag that replaces all earlier ones; undefined if it was not given. `none` removes them. */
const replacing = (flag: string, values: readonly string[]): readonly string[] | undefined => {
  if (values.length === 0) return undefined
  if (!values.includes('none')) return values
  if (values.length > 1) throw new Problem('usage', `--${flag} none can't be combined with others`)
  return []
}

/** Parses `first_name=Ada`. */
const fieldOf = (text: string): [string, string] => {
  const equals = text.indexOf('=')
  if (equals < 1) throw new Problem('usage', `--field ${shown(text)} is not name=value`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

/** The commands `svc forms`. */
export const commands: CommandList = [
  command({
    path: 'forms create',
    summary: 'Create a signup form (for labels, types and required fields use svc forms apply)',
    examples: [
      'svc forms create --name Newsletter --list Customers --field first_name --double-opt-in',
      'svc forms create --name Embedded --list Customers --origin https://shop.example',
    ],
    flags: {
      name: needed('<name>', 'its name, unique in the account and shown on its page'),
      list: needed('<id|name>', 'the list that contacts are added to'),
      field: repeated('<name>', 'a field beside the email address (repeatable)'),
      doubleOptIn: present('keep contacts pending until they confirm by the link in an email'),
      origin: repeated('<url>', 'a site whose scripts may post to it (repeatable)'),
    },
    run: async ({ app, out, work }, flags) => {
      const { createForm, FormFile, viewForm } = await import('./forms.ts')
      const { name, list, field: fields, origin: origins, doubleOptIn = false } = flags
      const file = await parse(FormFile, { name, list, fields, doubleOptIn, origins })
      // Read before anything is written: it throws if this process would make other links than the daemon.
      const { publicUrl } = app.config
      out.one(await out.named(viewForm(await work((w) => createForm(w, file)), publicUrl)))
    },
  }),

  command({
    path: 'forms update',
    summary: 'Change a signup form; what is not named stays',
    examples: [
      'svc forms update Newsletter --field first_name --field city --double-opt-in yes',
      'svc forms update Newsletter --list Customers --origin none --dry-run',
    ],
    arguments: [argument('<form>', 'id or name')],
    flags: {
      name: text('<name>', 'its name, unique in the account and shown on its page'),
      list: text('<id|name>', 'the list that contacts are added to from now on'),
      field: repeated('<name>', 'all of its fields (repeatable; none: no field); known ones keep their type'),
      doubleOptIn: text('<yes|no>', 'whether contacts are pending until they confirm by the link in an email', {
        of: ['yes', 'no'],
      }),
      origin: repeated('<url>', 'all sites whose scripts may post to it (repeatable; none: no site)'),
      ...changing(),
    },
    run: async ({ app, out, work }, ref, flags) => {
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
    },
  }),

  command({
    path: 'forms apply',
    summary: 'Create or update forms from a JSON or YAML file, matched by id or else by name',
    examples: ['svc forms apply -f form.yaml --dry-run', 'svc forms apply -f - < form.yaml'],
    flags: applying,
    run: async ({ app, out, work }, { file, dryRun = false }) => {
      const { applyForms, viewForm } = await import('./forms.ts')
      const documents = await readDocumentsOf(file)
      // Read before anything is written: it throws if this process would make other links than the daemon.
      const { publicUrl } = app.config
      const applied = await work((w) => applyForms(w, documents, { dryRun }))
      const shown = applied.map((form) => {
        const view = viewForm({ ...form, id: form.id ?? '' }, publicUrl)
        // A form that a dry run would create has no URL yet.
        return { ...view, ...(form.id === null && { id: null, url: null }), outcome: form.outcome }
      })
      await printApplied(out, 'forms', shown as AppliedForm[], appliedColumns, dryRun)
    },
  }),

  command({
    path: 'forms list',
    isDefault: true,
    summary: 'List the signup forms, by name',
    examples: ['svc forms', 'svc forms list --json'],
    run: async ({ app, out, work }) => {
      const { listForms, viewForm } = await import('./forms.ts')
      const forms = await work(listForms)
      await out.list(
        'forms',
        forms.map((form) => viewForm(form, app.config.publicUrl)),
        columns,
      )
    },
  }),

  command({
    path: 'forms show',
    summary: 'Show a signup form',
    examples: ['svc forms show Newsletter', 'svc forms show Newsletter --stats'],
    arguments: [argument('<form>', 'id or name')],
    flags: { stats: present('also show its submissions, confirmations and people by day') },
    run: async ({ app, out, work }, ref, { stats }) => {
      const { findForm, formStats, viewForm } = await import('./forms.ts')
      const view = viewForm(await work((w) => findForm(w, ref)), app.config.publicUrl)
      if (!stats) return out.one(await out.named(view))
      printWithCounts(out, await out.named(view), await work((w) => formStats(w, view.id)), [
        'submissions',
        'confirmed',
        'people',
      ])
    },
  }),

  command({
    path: 'forms submit',
    summary: 'Submit a form, as its hosted page does',
    examples: [
      'svc forms submit Newsletter --email ada@example.com',
      'svc forms submit Newsletter --email ada@example.com --field first_name=Ada',
    ],
    arguments: [argument('<form>', 'id or name')],
    flags: {
      email: needed('<email>', 'the email address'),
      field: repeated('<name=value>', 'a field (repeatable)'),
      ...changing('show the status that the contact would have, and change nothing'),
    },
    run: async ({ app, out, actor, account, work }, ref, flags) => {
      const given = Object.fromEntries(flags.field.map(fieldOf))
      const { requireSubmission, findForm, submitForm } = await import('./forms.ts')
      const form = await work((w) => findForm(w, ref))
      for (const name of Object.keys(given))
        if (!form.fields.some((field) => field.name === name)) out.note(`Ignored ${name}: the form has no such field.`)
      const { fields, email: address } = requireSubmission(form, { ...given, email: flags.email })
      const submission = { email: address, fields, isHoneypotFilled: false }
      const status = await submitForm(app, { accountId: (await account()).id, actor }, form.id, submission)
      out.one({ ok: true, status })
    },
  }),

  command({
    path: 'forms delete',
    summary: 'Delete a form; its list and its contacts stay, and links in sent emails still confirm',
    examples: ['svc forms delete Newsletter --dry-run', 'svc forms delete Newsletter --yes'],
    arguments: [argument('<form>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ account, app, out, work, confirm }, ref, flags) => {
      const { deleteForm, findForm, forgetPeople } = await import('./forms.ts')
      const { id, name } = await work((w) => findForm(w, ref))
      const isMeant = await confirm(`delete the form ${name}; its list and its contacts stay`, flags, { id, name })
      if (!isMeant) return
      await work((w) => deleteForm(w, id))
      await forgetPeople(app, (await account()).id, id)
      out.one({ id, name })
    },
  }),
]

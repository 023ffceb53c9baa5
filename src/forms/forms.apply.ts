import { addColumns, extendColumns, findList, requireList } from '../contacts/contacts.ts'
import { type Checked, type Fault, faultText, recordOf, requireFiles, shapeFaults } from '../lib/file-faults.ts'
import { given } from '../lib/given.ts'
import { newId } from '../lib/ids.ts'
import { lockKey } from '../lib/locks.ts'
import { parse } from '../lib/parse.ts'
import { conflict, noSuch, Problem, shown } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import { forgetCounts } from '../store/tallies.ts'
import type { Work } from '../store/work.ts'
import { forms } from './forms.columns.ts'
import { type Form, findForm, formsNamed } from './forms.find.ts'
import { FormFile } from './forms.shapes.ts'

const entitiesOf = (work: Work) => work.em(import('./forms.entities.ts'))

/** The result of applying one document. `id` is null if a dry run would create the form. */
export interface AppliedForm extends Omit<Form, 'id'> {
  id: string | null
  outcome: 'created' | 'updated' | 'unchanged'
}

const draftColumns = columns(forms, ['name', 'listId', 'fields', 'doubleOptIn', 'origins'])

/** The properties of a form that its author sets, with its list by id. */
type Draft = RowOf<typeof draftColumns.types>

const draftOf = (of: Draft): Draft => draftColumns.after(of, {})

const namesOf = ({ fields }: Pick<Draft, 'fields'>) => new Set(fields.map(({ name }) => name))

/**
 * Returns the id of the list that a file names. Throws Problem `not_found`, or `invalid` if the form's fields would exceed the list's
 * limit of columns.
 */
const resolveList = async (work: Work, { list, listId, fields }: FormFile): Promise<string> => {
  const found = await findList(work, (list ?? listId)!)
  extendColumns(found.fields, namesOf({ fields }))
  return found.id
}

/** Adds the form's fields to the list's columns now, so that no submission fails at the limit of columns. */
const keepColumns = async (work: Work, { listId, fields }: Draft): Promise<void> => {
  if (fields.length === 0) return
  const list = await requireList(work, listId)
  addColumns(work, { id: listId, ...list }, namesOf({ fields }))
}

const takeLock = statement(
  'lock-forms',
  { parameters: { accountId: 'text' } },
  `select from pg_advisory_xact_lock(${lockKey('forms', ':accountId')})`,
)

/** Serialises changes of an account's forms, because they read the existing forms before they write. */
const lockForms = ({ sql, accountId }: Work) => sql(takeLock, { accountId })

const nameTaken = (name: string) => conflict(`There is already a form named ${shown(name)}`)

/** Requires the lock of `lockForms`, under which no other form takes the name. */
const insert = async (work: Work, draft: Draft): Promise<Form> => {
  const { accountId, now } = work
  const [em, { Form }] = await entitiesOf(work)
  const id = newId('frm', now.getTime())
  em.create(Form, { id, accountId, ...draft, createdAt: now, updatedAt: now })
  await em.flush()
  await keepColumns(work, draft)
  return { id, ...draft, createdAt: now.getTime(), updatedAt: now.getTime() }
}

const update = async (work: Work, id: string, draft: Draft, usesList = true): Promise<void> => {
  const [em, { Form }] = await entitiesOf(work)
  await em.nativeUpdate(Form, { id }, { ...draft, updatedAt: work.now })
  if (usesList) await keepColumns(work, draft)
}

/** Creates a form. Throws Problem `not_found` for its list, `conflict` if its name is taken, `invalid` for more than 40 columns. */
export const createForm = async (work: Work, file: FormFile): Promise<Form> => {
  await lockForms(work)
  const listId = await resolveList(work, file)
  if ((await formsNamed(work, { id: null, name: file.name })).length > 0) throw nameTaken(file.name)
  return insert(work, draftOf({ ...file, listId }))
}

const checkForm = async (work: Work, document: unknown): Promise<Checked<FormFile & { listId: string }>> => {
  if (!recordOf(document)) return { file: null, faults: ['a form must be an object with name and list'] }
  const checked = FormFile.safeParse(document)
  if (!checked.success) return { file: null, faults: shapeFaults(checked.error, 'the form') }
  try {
    return { file: { ...checked.data, listId: await resolveList(work, checked.data) }, faults: null }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const named = checked.data.listId === undefined ? 'list' : 'listId'
    const fault: Fault = { path: [error.kind === 'not_found' ? named : 'fields'], message: error.message }
    return { file: null, faults: [faultText(fault)], hint: error.detail.hint }
  }
}

const currentOf = async (work: Work, { id, name }: FormFile): Promise<Form | undefined> => {
  const found = await formsNamed(work, { id: id ?? null, name })
  if (id === undefined) return found[0]
  if (found[0]?.id !== id) throw noSuch('form', id, { hint: 'svc forms list' })
  if (found.length > 1) throw nameTaken(name)
  return found[0]
}

const applyOne = async (work: Work, file: FormFile & Draft, dryRun: boolean): Promise<AppliedForm> => {
  const draft = draftOf(file)
  const current = await currentOf(work, file)
  const nowMs = work.now.getTime()
  if (!current) {
    const form = dryRun ? { id: null, ...draft, createdAt: nowMs, updatedAt: nowMs } : await insert(work, draft)
    return { ...form, outcome: 'created' }
  }
  if (draftColumns.isSame(draft, current)) return { ...current, outcome: 'unchanged' }
  if (!dryRun) await update(work, current.id, draft)
  return { ...current, ...draft, updatedAt: nowMs, outcome: 'updated' }
}

/**
 * Creates or updates forms from documents, all or nothing. A document with an id names an existing form; otherwise its name does.
 * `dryRun` writes nothing. Throws Problem `invalid` with every fault of every document, `not_found` for an id that the account does
 * not have, `conflict` if a name is taken.
 */
export const applyForms = async (
  work: Work,
  documents: readonly unknown[],
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<AppliedForm[]> => {
  await lockForms(work)
  const files = await requireFiles(documents, 'form', (document) => checkForm(work, document))
  const applied: AppliedForm[] = []
  for (const file of files) applied.push(await applyOne(work, file, dryRun))
  return applied
}

/** What `updateForm` changes; other properties stay. */
interface FormChange {
  name?: string | undefined
  /** The list, by its id or name. */
  list?: string | undefined
  /** The names of all fields. A field that the form has keeps its label, type and options. */
  fields?: readonly string[] | undefined
  doubleOptIn?: boolean | undefined
  origins?: readonly string[] | undefined
}

/**
 * Changes a form (id or name), and returns it. Submissions that have not begun their transaction follow the change; sent confirmation
 * links stay valid, for the list that they were sent for. Throws Problem `not_found` for the form or its new list, `conflict` if the
 * name is taken, `invalid` for invalid values and for more than 40 columns.
 */
export const updateForm = async (work: Work, ref: string, change: FormChange): Promise<Form> => {
  await lockForms(work)
  const current = await findForm(work, ref)
  const fields = change.fields?.map((name) => current.fields.find((field) => field.name === name) ?? name)
  const { listId: list, ...before } = draftOf(current)
  const file = parse(FormFile, { list, ...before, ...given({ ...change, fields }) })
  // The list of a form may have been deleted: then the form can still be renamed.
  const usesList = change.list !== undefined || change.fields !== undefined
  const listId = usesList ? await resolveList(work, file) : current.listId
  const draft = draftOf({ ...file, listId })
  if (draftColumns.isSame(draft, current)) return current
  if ((await formsNamed(work, { id: current.id, name: draft.name })).length > 1) throw nameTaken(draft.name)
  await update(work, current.id, draft, usesList)
  return { ...current, ...draft, updatedAt: work.now.getTime() }
}

/**
 * Deletes a form by its id, with its counts. Confirmation links that were sent for it stay valid. Throws Problem `not_found`. The
 * caller then calls `forgetPeople`.
 */
export const deleteForm = async (work: Work, id: string): Promise<void> => {
  const [em, { Form }] = await entitiesOf(work)
  if ((await em.nativeDelete(Form, { id })) === 0) throw noSuch('form', id, { hint: 'svc forms list' })
  await forgetCounts(work, id)
}

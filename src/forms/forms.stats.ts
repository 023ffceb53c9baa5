import { contactAt } from '../contacts/contacts.rows.ts'
import { datesBetween } from '../lib/days.ts'
import { continueDeletions, defineJob, inBatches } from '../store/background.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import { readDayCounts, sumCounts, tallying, utcDay } from '../store/tallies.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { formSignups } from './forms.columns.ts'

/*
 * Submissions of forms by day (docs/reference/results.md#signup-forms), counted in the transaction that accepts or confirms them. The
 * subject of a form's counts is its id. The share lock of the form makes its deletion wait, so that nothing is counted after it.
 */

const lockedForm = 'select id from forms where account_id = :accountId and id = :formId for key share'

// A contact that is erased at the same time is not counted as a person: either it is gone here, or its erasure waits and finds the row.
const insertSubmission = preparedStatement(
  'count-submission',
  {
    parameters: {
      ...types(formSignups, 'accountId', 'formId', 'listId', 'rowId'),
      now: 'timestamptz',
      isConfirmed: 'bool',
    },
  },
  `with form as materialized (${lockedForm}), person as (
     insert into form_people (account_id, email, form_id, submitted_at)
     select :accountId, c.email, form.id, :now
     from form cross join ${contactAt(':accountId', ':listId', ':rowId', 'for key share')} c
     on conflict do nothing returning 1
   )
   ${tallying(`select :accountId, form.id, ${utcDay(':now::timestamptz')}, jsonb_build_object('submissions', 1)
     || case when :isConfirmed then '{ "confirmed": 1 }' else '{}' end::jsonb
     || case when exists (select from person) then '{ "people": 1 }' else '{}' end::jsonb
   from form`)}`,
)

/** Counts an accepted submission by a contact. `isConfirmed` says that its form has no double opt-in. */
export const countSubmission = async (
  { sql, accountId, now }: Work,
  { formId, listId, rowId, isConfirmed }: { formId: string; listId: string; rowId: string; isConfirmed: boolean },
): Promise<void> => {
  await sql(insertSubmission, { accountId, formId, listId, rowId, now, isConfirmed })
}

const insertConfirmation = preparedStatement(
  'count-confirmation',
  { parameters: { ...types(formSignups, 'accountId', 'formId'), now: 'timestamptz' } },
  `with form as materialized (${lockedForm})
   ${tallying(`select :accountId, id, ${utcDay(':now::timestamptz')}, '{ "confirmed": 1 }' from form`)}`,
)

/** Counts the confirmation of a signup. That of a deleted form is not counted. */
export const countConfirmation = async ({ sql, accountId, now }: Work, formId: string): Promise<void> => {
  await sql(insertConfirmation, { accountId, formId, now })
}

const deletePerson = statement(
  'erase-form-person',
  { parameters: { accountId: 'text', email: 'text' } },
  `with form as materialized (
     select id from forms where account_id = :accountId and id in (select form_id from form_people where account_id = :accountId and email = :email)
     order by id for key share
   ), gone as (
     delete from form_people where account_id = :accountId and email = :email returning form_id, submitted_at
   )
   ${tallying(`select :accountId, form.id, ${utcDay('gone.submitted_at')}, '{ "people": -1 }' from gone join form on form.id = gone.form_id`)}`,
)

/** Deletes an erased address from the people of forms. Its submissions stay counted. */
export const eraseFormPerson = async ({ sql, accountId }: AccountSql, email: string): Promise<void> => {
  await sql(deletePerson, { accountId, email })
}

const readForms = statement(
  'forms-of-address',
  { row: { formId: 'text', submittedAt: 'int8' }, parameters: { accountId: 'text', email: 'text' } },
  `select form_id as "formId", ${epochMs('submitted_at')} as "submittedAt"
   from form_people where account_id = :accountId and email = :email order by form_id`,
)

/** Returns the forms that a normalised address submitted, each with its first submission in epoch ms. */
export const formsOf = ({ sql, accountId }: AccountSql, email: string) => sql(readForms, { accountId, email })

const batchSize = 1000

const deletePeopleOfForm = statement(
  'delete-people-of-form',
  { row: { count: 'int8' }, parameters: { accountId: 'text', formId: 'text', size: 'int8' } },
  `with gone as (
     delete from form_people where ctid = any(array(
       select ctid from form_people where account_id = :accountId and form_id = :formId limit :size for update skip locked
     )) returning 1
   ) select count(*) as count from gone`,
)

/** Deletes the people of a form that was deleted, in batches. */
export const forgetPeople = (
  { sql }: Pick<App, 'sql'>,
  accountId: string,
  formId: string,
  signal?: AbortSignal,
): Promise<number> =>
  inBatches(
    batchSize,
    async () => (await sql(deletePeopleOfForm, { accountId, formId, size: batchSize }))[0]!.count,
    signal,
  )

// Reads one index entry for each form.
const unfinished = statement(
  'unfinished-form-deletions',
  { row: { accountId: 'text', formId: 'text' }, parameters: { only: 'text?' } },
  `with recursive counted as (
     (select account_id, form_id from form_people order by account_id, form_id limit 1)
     union all
     select n.account_id, n.form_id from counted c cross join lateral (
       select account_id, form_id from form_people p where (p.account_id, p.form_id) > (c.account_id, c.form_id)
       order by p.account_id, p.form_id limit 1
     ) n
   )
   select account_id as "accountId", form_id as "formId" from counted c
   where not exists (select from forms f where f.account_id = c.account_id and f.id = c.form_id)
     and (:only::text is null or account_id = :only)`,
)

/** Continues deletions of forms whose command was interrupted. */
const finishFormDeletions = continueDeletions(unfinished, (app, { accountId, formId }, { signal }) =>
  forgetPeople(app, accountId, formId, signal),
)

interface Numbers {
  /** Accepted submissions, also repeated ones. */
  submissions: number
  /** Confirmations by the link of double opt-in, and submissions without double opt-in. */
  confirmed: number
  /** Distinct addresses, each on the day of its first submission. */
  people: number
}

/** Numbers of a form, which are the sums of its UTC days; `days` has no gaps. */
interface FormStats extends Numbers {
  days: ({ date: string } & Numbers)[]
}

const numbersOf = ({ submissions = 0, confirmed = 0, people = 0 }: Readonly<Record<string, number>> = {}): Numbers => ({
  submissions,
  confirmed,
  people,
})

export const formStats = async (work: AccountSql, formId: string): Promise<FormStats> => {
  const counted = await readDayCounts(work, formId, null)
  const total = numbersOf(sumCounts(counted))
  if (counted.length === 0) return { ...total, days: [] }
  const byDate = new Map(counted.map(({ day, counts }) => [day, counts]))
  const dates = datesBetween(counted[0]!.day, counted.at(-1)!.day)
  return { ...total, days: dates.map((date) => ({ date, ...numbersOf(byDate.get(date)) })) }
}

export const jobs = [
  defineJob('form deletions', {
    does: 'Continues interrupted deletions of forms',
    runFor: finishFormDeletions,
  }),
]

import { readBrand } from '../accounts/accounts.ts'
import { contactAt, contactsOf } from '../contacts/contacts.rows.ts'
import { type Contact, lockContact } from '../contacts/contacts.ts'
import { hasFailed, queueMessage, statusOf } from '../messages/messages.ts'
import { defineJob, inBatches, type Sweep } from '../store/background.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { isUnavailable } from '../store/database.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import type { FormField } from '../studio/studio.ts'
import { formSignups } from './forms.columns.ts'
import { confirmMail } from './forms.mails.ts'

/*
 * The email with the confirmation link (docs/reference/rules.md#double-opt-in). A signup is one row, written under the lock of its
 * contact.
 */

/** The contact of a signup, in its list. */
interface Place {
  listId: string
  rowId: string
  email: string
}

interface Signup extends Place {
  form: { id: string; name: string }
  /** As in the entity. */
  fields: Record<string, string> | null
}

/** A signup that was submitted, with the fields of its form. */
interface SubmittedSignup extends Signup {
  shown: readonly FormField[]
}

/** Lifetime of a confirmation link. */
const confirmMs = 30 * 86_400_000
/** The link is sent at most once in this time, unless its email failed. */
const cooldownMs = 5 * 60_000
/** A failed email is sent again after 5, 20, 80 minutes and so on, for a little more than a day in all. */
const maxTries = 5
const backoff = `interval '5 minutes' * 4 ^ s.tries`

export type Mailer = Pick<App, 'config' | 'projects' | 'tokens'>

const send = async (app: Mailer, work: Work, { form, listId, rowId, email }: Signup): Promise<string | null> => {
  const token = app.tokens.sign('confirm', [work.accountId, listId, rowId], work.now.getTime() + confirmMs)
  const { publicUrl } = app.config
  const brand = { ...(await readBrand(work)), publicUrl }
  const mail = confirmMail({ formName: form.name, url: `${publicUrl}/f/confirm/${token}`, brand })
  const source = { kind: 'lifecycle', id: form.id } as const
  const queued = await queueMessage(app, work, { ...mail, to: email, type: 'transactional', key: null, source })
  return queued.status === 'known' ? null : queued.id
}

const place = types(formSignups, 'accountId', 'listId', 'rowId')

const lastColumns = columns(formSignups, ['mailedAt', 'messageId', 'tries'])
type Last = RowOf<typeof lastColumns.types>

const lastConfirmMail = preparedStatement(
  'last-confirm-mail',
  { row: lastColumns.types, parameters: place },
  `select ${lastColumns.list} from form_signups
   where account_id = :accountId and list_id = :listId and row_id = :rowId`,
)

/** Locks a signup by its contact. Returns null if the contact was deleted. `last` is the latest confirmation email, if any. */
const lockSignup = async (
  work: Work,
  { listId, rowId }: Pick<Place, 'listId' | 'rowId'>,
): Promise<{ status: Contact['status']; last: Last | null } | null> => {
  const status = await lockContact(work, { listId, rowId })
  if (status === null) return null
  const [last = null] = await work.sql(lastConfirmMail, { accountId: work.accountId, listId, rowId })
  return { status, last }
}

const hasMailFailed = async (work: Work, { messageId }: Last): Promise<boolean> =>
  messageId !== null && (await statusOf(work, messageId)) === 'failed'

const savedColumns = columns(formSignups, ['formId', 'formName', 'fields', 'mailedAt', 'messageId', 'shown'])

const saveSignup = preparedStatement(
  'save-signup',
  { parameters: { ...place, ...savedColumns.types, shown: 'jsonb' } },
  `insert into form_signups (account_id, row_id, list_id, ${savedColumns.names})
   values (:accountId, :rowId, :listId, ${savedColumns.values})
   on conflict (account_id, row_id, list_id) do update set ${savedColumns.set}, tries = 0`,
)

/**
 * Saves an unconfirmed signup and sends the link, at most once in five minutes unless the email failed. `fields` are those of an
 * active contact, null for a pending one. If the contact's status changed in the meantime, nothing happens.
 */
export const sendLink = async (app: Mailer, work: Work, signup: SubmittedSignup): Promise<void> => {
  const { listId, rowId, form, fields, shown } = signup
  const locked = await lockSignup(work, signup)
  if (locked?.status !== (fields ? 'active' : 'pending')) return
  const { sql, accountId, now } = work
  const { last } = locked
  const wasSent =
    last !== null && last.mailedAt.getTime() > now.getTime() - cooldownMs && !(await hasMailFailed(work, last))
  const messageId = wasSent ? last.messageId : await send(app, work, signup)
  const saved = { formId: form.id, formName: form.name, fields, shown: JSON.stringify(shown) }
  const mailedAt = wasSent ? last.mailedAt : now
  await sql(saveSignup, { accountId, rowId, listId, ...saved, mailedAt, messageId })
}

const failedTypes = {
  ...place,
  email: 'text',
  form: typed<Signup['form']>('json'),
  ...types(formSignups, 'fields', 'tries'),
} as const
type Failed = RowOf<typeof failedTypes>

const findFailed = statement(
  'find-failed-confirm-mails',
  {
    row: failedTypes,
    parameters: { mailedAt: 'timestamptz', batchSize: 'int8', skipped: '_text' },
  },
  `
  select s.account_id as "accountId", s.list_id as "listId", s.row_id as "rowId", c.email,
    json_build_object('id', s.form_id, 'name', s.form_name) as form, s.fields, s.tries
  from form_signups s cross join lateral ${contactAt('s.account_id', 's.list_id', 's.row_id')} c
  where s.mailed_at > :mailedAt::timestamptz - interval '2 days' and s.mailed_at <= :mailedAt::timestamptz - ${backoff} and s.tries < ${maxTries}
    and ${hasFailed('s.account_id', 's.message_id')}
    and s.list_id || s.row_id <> all(:skipped) and account_works(s.account_id)
  limit :batchSize`,
)

const recordRepeat = statement(
  'record-repeated-confirm-mail',
  { parameters: { ...place, now: 'timestamptz', ...types(formSignups, 'messageId') } },
  `update form_signups set mailed_at = :now, message_id = :messageId, tries = tries + 1
   where account_id = :accountId and list_id = :listId and row_id = :rowId`,
)

const repeat = (app: App, { accountId, tries, ...signup }: Failed): Promise<number> =>
  app.work(accountId, 'job:forms', async (work) => {
    const { listId, rowId } = signup
    const { last = null } = (await lockSignup(work, signup)) ?? {}
    // The signup was submitted again or confirmed in the meantime.
    if (!last || last.tries !== tries || !(await hasMailFailed(work, last))) return 0
    const messageId = await send(app, work, signup)
    await work.sql(recordRepeat, { accountId, listId, rowId, now: work.now, messageId })
    return 1
  })

/**
 * Sends links again whose email failed, for example without a sender or quota. Returns their number. A link that fails is
 * reported and does not delay the others. Rejects while the database is unavailable.
 */
const resendFailedLinks = async (app: App, signal?: AbortSignal, batchSize = 100): Promise<number> => {
  let count = 0
  const skipped: string[] = []
  const batch = async () => {
    const found = await app.sql(findFailed, { mailedAt: app.now(), batchSize, skipped })
    for (const failed of found) {
      if (signal?.aborted) break
      count += await repeat(app, failed).catch((error) => {
        if (isUnavailable(error)) throw error
        skipped.push(`${failed.listId}${failed.rowId}`)
        app.report(error, { accountId: failed.accountId })
        return 0
      })
    }
    return found.length
  }
  await inBatches(batchSize, batch, signal)
  return count
}

const deleteExpired = statement(
  'delete-expired-signups',
  { row: { rowId: 'text' }, parameters: { mailedAt: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `delete from form_signups where ctid in (
     select ctid from form_signups where mailed_at < :mailedAt and (:only::text is null or account_id = :only)
     order by mailed_at limit :batchSize for update skip locked
   ) returning row_id as "rowId"`,
)

/** Deletes signups whose link has expired. */
const purgeSignups = ({ sql, now }: Pick<App, 'sql' | 'now'>, { signal, batchSize = 500, only = null }: Sweep = {}) =>
  inBatches(
    batchSize,
    async () => (await sql(deleteExpired, { mailedAt: new Date(now().getTime() - confirmMs), batchSize, only })).length,
    signal,
  )

const readSignupsOf = statement(
  'signups-of-address',
  {
    row: { ...types(formSignups, 'listId', 'formId', 'fields'), mailedAt: 'int8' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select s.list_id as "listId", s.form_id as "formId", s.fields, ${epochMs('s.mailed_at')} as "mailedAt"
   from form_signups s join ${contactsOf(':accountId', ':email')} c on c.list_id = s.list_id and c.row_id = s.row_id
   where s.account_id = :accountId order by s.list_id`,
)

/** Returns the unconfirmed signups of a normalised address, ordered by list. Times are in epoch ms. */
export const signupsOf = ({ sql, accountId }: AccountSql, email: string) => sql(readSignupsOf, { accountId, email })

export const jobs = [
  defineJob('signup links', {
    does: 'Sends confirmation links again whose email failed',
    runOnce: resendFailedLinks,
  }),
  defineJob('signups', {
    does: 'Deletes signups whose link has expired',
    runFor: purgeSignups,
  }),
]

import {
  addLead,
  type Contact,
  type LeadCause,
  normalizeFields,
  readContacts,
  verifyAddresses,
  writeContacts,
} from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import { Problem } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import type { BlockOf } from './engagement.blocks.ts'
import type { SentMail } from './engagement.sent.ts'

/*
 * What a form in a mail makes of who answers it (decisions.md, Studio projects). The answer itself is kept whatever becomes of
 * this: a list that is gone, a full plan or a list with 40 columns loses nothing.
 */

export type Verdicts = Awaited<ReturnType<typeof verifyAddresses>>

/** What is asked of DNS before the unit of work. */
export const verdictsFor = async (app: App, sent: SentMail, { props }: BlockOf<'form'>): Promise<Verdicts> =>
  props.listId ? verifyAddresses(app, [sent.email]) : new Map()

type Fields = Record<string, string>

/** Nothing is written where the write is refused, so that another can be tried. */
const unlessRefused = async <T>(write: () => Promise<T>, instead: () => Promise<T>): Promise<T> => {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return instead()
  }
}

/** Saves the answer with who is in the list, which no event tells of, or adds them as a lead. */
const saveAnswer = async (
  work: Work,
  { email }: SentMail,
  answered: { listId: string; answer: Fields; verdicts: Verdicts; cause: LeadCause },
): Promise<{ contact: Contact; isNew: boolean } | null> => {
  const { listId, verdicts, cause } = answered
  const fields = normalizeFields(answered.answer)
  const [known] = await readContacts(work, email, listId)
  if (known?.status === 'active') {
    const save = () => writeContacts(work, listId, [{ email, fields }], verdicts, { events: false })
    await unlessRefused<unknown>(save, async () => null)
    const [contact = known] = await readContacts(work, email, listId)
    return { contact, isNew: false }
  }
  const lead = { listId, email, verdicts, ...cause }
  return unlessRefused(
    () => addLead(work, { ...lead, fields }),
    () =>
      unlessRefused(
        () => addLead(work, { ...lead, fields: {} }),
        async () => null,
      ),
  )
}

/** Whether the address had answered no other form of the project. */
const isFirstForm = async ({ sql, accountId }: Work, { email, projectId, id }: SentMail, blockId: string) => {
  const before = await sql(
    `select from interactions where account_id = $1 and email = $2 and project_id = $3 and kind = 'form'
       and (message_id, block_id) <> ($4, $5) limit 1`,
    [accountId, email, projectId, id, blockId],
    'first-form',
  )
  return before.length === 0
}

/**
 * Tells of a form's first answer: `form.submitted`, and `lead.new` where it brings its address to the form's list, or is the
 * first form of the project that a known contact answers.
 */
export const tellForm = async (
  work: Work,
  sent: SentMail,
  { id, props }: BlockOf<'form'>,
  answer: Fields,
  verdicts: Verdicts,
): Promise<void> => {
  const form = { id, name: props.title }
  const cause: LeadCause = { source: 'email-form', form }
  const { listId } = props
  const saved = listId ? await saveAnswer(work, sent, { listId, answer, verdicts, cause }) : null
  const contact = saved?.contact ?? (await readContacts(work, sent.email))[0] ?? null
  await emit(work, 'form.submitted', () => [
    { source: 'email-form', form, fields: answer, contact, submittedAt: work.now.getTime() },
  ])
  if (contact && !saved?.isNew && (await isFirstForm(work, sent, id)))
    await emit(work, 'lead.new', () => [{ contact, ...cause }])
}

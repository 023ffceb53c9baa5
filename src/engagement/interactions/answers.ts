import { ticketFirst, writeFairly } from '../../contacts/contacts.ts'
import { isEmailSyntax, normalizeEmail } from '../../lib/email.ts'
import { invalid, shown } from '../../lib/problem.ts'
import type { App, Work } from '../../store/work.ts'
import type { FormField } from '../../studio/studio.ts'
import { recipientActor, recipientWork, requireRecipient } from '../engagement.recipient.ts'
import type { SentMail } from '../engagement.sent.ts'
import type { Answered, BlockKind } from './blocks.ts'
import { publishForm, verifyRecipient } from './interactions.leads.ts'
import { type InteractionValue, type NewInteraction, type Recorded, recordInteraction } from './interactions.record.ts'

/*
 * The interactive blocks without a feature of their own: vote, rating, quiz and form (docs/reference/studio.md#answers).
 */

const answered = (recorded: Recorded): Answered => ({ duplicate: recorded === 'same' })

const recordAnswer = async (
  app: App,
  sent: SentMail,
  blockId: string,
  answer: Pick<NewInteraction, 'kind' | 'value' | 'onOther'>,
): Promise<Answered> =>
  answered(await recipientWork(app, sent, (work) => recordInteraction(work, sent, { blockId, ...answer })))

const optionOf = (options: readonly string[], value: unknown): string => {
  if (typeof value === 'string' && options.includes(value)) return value
  throw invalid('value must be the text of one of the options')
}

const vote: BlockKind<'vote'> = {
  type: 'vote',
  answer: (app, sent, { id, props }, value) =>
    recordAnswer(app, sent, id, { kind: 'vote', value: optionOf(props.options, value) }),
}

const rating: BlockKind<'rating'> = {
  type: 'rating',
  async answer(app, sent, { id, props }, value) {
    if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > props.max)
      throw invalid(`value must be a whole number from 1 to ${props.max}`)
    return recordAnswer(app, sent, id, { kind: 'rating', value: value as number })
  },
}

const quiz: BlockKind<'quiz'> = {
  type: 'quiz',
  answer: (app, sent, { id, props }, value) =>
    recordAnswer(app, sent, id, { kind: 'quiz', value: optionOf(props.options, value), onOther: 'keep' }),
}

/** The maximum length of a form field's text, in UTF-16 code units. */
export const maxTextLength = 10_000
const checkboxValues = ['true', 'false']

/** Returns why a field's text is not valid, or null if it is. */
const refusalOf = ({ type, options = [] }: FormField, text: string): string | null => {
  if (text.length > maxTextLength) return `must have at most ${maxTextLength} characters`
  if (type === 'email' && !isEmailSyntax(normalizeEmail(text))) return 'must be an email address'
  if (type === 'number' && !Number.isFinite(Number(text))) return 'must be a number'
  if (type === 'select' && !options.some((option) => option.trim() === text)) return 'must be one of its options'
  if (type === 'checkbox' && !checkboxValues.includes(text)) return 'must be true or false'
  return null
}

const isGiven = ({ type }: FormField, text: string): boolean =>
  text !== '' && !(type === 'checkbox' && text === 'false')

/** Returns the non-empty texts of a form by field name, in the order of the fields. Throws Problem `invalid`. */
const formFieldsOf = (fields: readonly FormField[], value: unknown): Record<string, string> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('value must be an object of texts')
  const given = new Map(Object.entries(value))
  const unknown = [...given.keys()].find((name) => !fields.some((field) => field.name === name))
  if (unknown !== undefined) throw invalid(`value has no field ${shown(unknown)}`)
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = given.get(field.name) ?? ''
      if (typeof text !== 'string') throw invalid(`value.${field.name} must be a text`)
      const trimmed = text.replaceAll('\0', '').toWellFormed().trim()
      if (field.required && !isGiven(field, trimmed)) throw invalid(`value.${field.name} is required`)
      if (trimmed === '') return []
      const refusal = refusalOf(field, trimmed)
      if (refusal) throw invalid(`value.${field.name} ${refusal}`)
      return [[field.name, trimmed] as const]
    }),
  )
}

const form: BlockKind<'form'> = {
  type: 'form',
  async answer(app, sent, block, value) {
    const fields = formFieldsOf(block.props.fields, value)
    const verifications = await verifyRecipient(app, sent, block)
    const write = async (work: Work) => {
      await requireRecipient(work, sent)
      await ticketFirst(work)
      const interaction = {
        kind: 'form',
        blockId: block.id,
        value: fields as InteractionValue,
        onOther: 'keep',
        onFirst: () => publishForm(work, sent, block, fields, verifications),
      } as const
      return answered(await recordInteraction(work, sent, interaction))
    }
    return block.props.listId
      ? writeFairly(app, sent.accountId, recipientActor, write)
      : app.work(sent.accountId, recipientActor, write)
  },
}

// A list of several kinds: each is called only with blocks of its own type.
export const blocks: readonly BlockKind[] = [vote, rating, quiz, form]

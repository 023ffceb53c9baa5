import { type Contact, leaveList, normalizeFields, readContacts, writeContacts } from '../contacts/contacts.ts'
import { changeDeal, createDeal, dealOf, NewDeal } from '../deals/deals.ts'
import { parse } from '../lib/parse.ts'
import type { Work } from '../store/work.ts'
import type { Step } from './journeys.definition.ts'
import { fillTags } from './steps.tags.ts'

/** What a step did, for the log, and the run's contact where the step changed it (null: it is in no list any more). */
export interface Effect {
  outcome: string
  contact?: Contact | null
  /** The run's context from here on. */
  context?: RunContext
}

type RunContext = Readonly<Record<string, unknown>>

/** The deals that the run made, newest first. */
const madeDeals = ({ madeDealIds }: RunContext): string[] => (madeDealIds as string[] | undefined) ?? []

/** The deal that started the run, then those that it made. */
const ownDeals = (context: RunContext): string[] => [
  ...(typeof context.dealId === 'string' ? [context.dealId] : []),
  ...madeDeals(context),
]

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

const titleMaxLength = 200

/** No contact events (api.md section 6, rule 1). */
const updateField = async (work: Work, step: StepOf<'update-field'>, contact: Contact): Promise<Effect> => {
  const value = typeof step.value === 'string' ? fillTags(step.value, contact) : step.value
  const fields = normalizeFields([[step.field, value]])
  const { listId, email } = contact
  const outcomes = await writeContacts(work, listId, [{ email, fields }], new Map(), { events: false })
  return { outcome: outcomes.get(email)!, contact: { ...contact, fields: { ...contact.fields, ...fields } } }
}

/** The contact brings its fields along; one that is in the list already stays as it is there. */
const addToList = async (work: Work, step: StepOf<'add-to-list'>, { email, fields }: Contact): Promise<Effect> => {
  const outcomes = await writeContacts(work, step.list, [{ email, fields }], new Map(), { keepExisting: true })
  return { outcome: outcomes.get(email) === 'created' ? 'added' : 'was in the list' }
}

const removeFromList = async (work: Work, step: StepOf<'remove-from-list'>, contact: Contact): Promise<Effect> => {
  const { email, listId } = contact
  const outcome = (await leaveList(work, step.list, email)) ? 'removed' : 'was not in the list'
  if (step.list !== listId) return { outcome }
  return { outcome, contact: (await readContacts(work, email))[0] ?? null }
}

const makeDeal = async (
  work: Work,
  step: StepOf<'create-deal'>,
  contact: Contact,
  context: RunContext,
): Promise<Effect> => {
  const { listId, rowId } = contact
  const { value, currency, pipeline: pipelineId, stage: stageId } = step
  const title = fillTags(step.title, contact).trim().slice(0, titleMaxLength)
  const input = parse(NewDeal, { title, value, currency, pipelineId, stageId, listId, rowId })
  const { deal } = await createDeal(work, input, { source: 'journey' })
  return { outcome: deal.id, context: { ...context, madeDealIds: [deal.id, ...madeDeals(context)] } }
}

/** Moves the run's own deal, else the contact's newest open one, in the pipeline of the stage. */
const moveDeal = async (
  work: Work,
  step: StepOf<'move-deal'>,
  contact: Contact,
  context: RunContext,
): Promise<Effect> => {
  const deal = await dealOf(work, contact, { stageId: step.stage, ids: ownDeals(context) })
  if (!deal) return { outcome: 'no open deal' }
  const { moved } = await changeDeal(work, deal.id, { stageId: step.stage })
  return { outcome: moved ? `${deal.id} moved` : `${deal.id} was there` }
}

/** Does what the step says, in the unit of work; null where it is no such step. Throws Problem where that is refused. */
export const doEffect = async (
  work: Work,
  step: Step,
  contact: Contact,
  context: RunContext,
): Promise<Effect | null> => {
  switch (step.kind) {
    case 'update-field':
      return updateField(work, step, contact)
    case 'add-to-list':
      return addToList(work, step, contact)
    case 'remove-from-list':
      return removeFromList(work, step, contact)
    case 'create-deal':
      return makeDeal(work, step, contact, context)
    case 'move-deal':
      return moveDeal(work, step, contact, context)
    default:
      return null
  }
}

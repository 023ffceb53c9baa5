import {
  type Contact,
  type ContactUpdate,
  joinList,
  leaveList,
  normalizeFields,
  readContacts,
  updateContacts,
} from '../contacts/contacts.ts'
import { changeDeal, createDeal, dealOf, NewDeal, shareBoard } from '../deals/deals.ts'
import { parse } from '../lib/parse.ts'
import type { Work } from '../store/work.ts'
import type { Step } from './journeys.definition.ts'
import { lockEntrants } from './journeys.enrol.ts'
import { postCalls, type SendMails, sendMails } from './steps.out.ts'
import { fillTags } from './steps.tags.ts'

/**
 * What a step did to a run: for the log, with the run's contact where the step changed it (null: it is in no list any more)
 * and the run's context from here on. Or the delivery whose end the run waits for. Or why the run fails.
 */
export type Effect =
  | { outcome: string; contact?: Contact | null; context?: RunContext }
  | { deliveryId: string }
  | { failed: string }

type RunContext = Record<string, unknown>

/** A run at a step that does something. */
export interface Doer {
  runId: string
  journeyId: string
  stepNo: number
  contact: Contact
  context: RunContext
}

/** What journeys are given of other features. */
export interface Ports {
  sendMails: SendMails
}

/** The deals that the run made, newest first. */
const madeDeals = ({ madeDealIds }: RunContext): string[] => (madeDealIds as string[] | undefined) ?? []

/** The deal that started the run, then those that it made. */
const ownDeals = (context: RunContext): string[] => [
  ...(typeof context.dealId === 'string' ? [context.dealId] : []),
  ...madeDeals(context),
]

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

const titleMaxLength = 200

/** At most so many UTF-16 units, without half a character at its end. */
const cut = (text: string, maxLength: number): string => text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')

/** No contact events (api.md section 6, rule 1). Runs of one contact set the same, so that it is set once. */
const updateField = async (work: Work, step: StepOf<'update-field'>, doers: readonly Doer[]): Promise<Effect[]> => {
  const updates = new Map<string, ContactUpdate>()
  for (const { contact } of doers) {
    const value = typeof step.value === 'string' ? fillTags(step.value, contact) : step.value
    const { listId, email } = contact
    updates.set(`${listId} ${email}`, { listId, email, fields: normalizeFields({ [step.field]: value }) })
  }
  const outcomes = await updateContacts(work, [...updates.values()])
  const done = new Map([...updates].map(([key, { fields }], i) => [key, { outcome: outcomes[i], fields }]))
  return doers.map(({ contact }) => {
    const { outcome, fields } = done.get(`${contact.listId} ${contact.email}`)!
    if (!outcome) return { outcome: 'the contact was removed', contact: null }
    return { outcome, contact: { ...contact, fields: { ...contact.fields, ...fields } } }
  })
}

/** The contact brings its fields and its status along; one that is in the list already stays as it is there. */
const addToList = async (work: Work, step: StepOf<'add-to-list'>, doers: readonly Doer[]): Promise<Effect[]> => {
  const contacts = new Map(doers.map(({ contact }) => [contact.email, contact]))
  const added = new Set(await joinList(work, step.list, [...contacts.values()]))
  return doers.map(({ contact: { email } }) => ({ outcome: added.delete(email) ? 'added' : 'was in the list' }))
}

const removeFromList = async (work: Work, step: StepOf<'remove-from-list'>, { contact }: Doer): Promise<Effect> => {
  const { email, listId } = contact
  const outcome = (await leaveList(work, step.list, email)) ? 'removed' : 'was not in the list'
  if (step.list !== listId) return { outcome }
  return { outcome, contact: (await readContacts(work, email))[0] ?? null }
}

const makeDeal = async (work: Work, step: StepOf<'create-deal'>, { contact, context }: Doer): Promise<Effect> => {
  const { listId, rowId } = contact
  const { value, currency, pipeline: pipelineId, stage: stageId } = step
  const title = cut(fillTags(step.title, contact).trim(), titleMaxLength)
  const input = parse(NewDeal, { title, value, currency, pipelineId, stageId, listId, rowId })
  const { deal } = await createDeal(work, input, { source: 'journey' })
  return { outcome: deal.id, context: { ...context, madeDealIds: [deal.id, ...madeDeals(context)] } }
}

/** The board before their contacts, and these before the deals: each may let its contact into journeys, which locks it. */
const makeDeals = async (work: Work, step: StepOf<'create-deal'>, doers: readonly Doer[]): Promise<Effect[]> => {
  await shareBoard(work)
  await lockEntrants(
    work,
    doers.map(({ contact }) => contact),
  )
  const effects: Effect[] = []
  for (const doer of doers) effects.push(await makeDeal(work, step, doer))
  return effects
}

/** Moves the run's own deal, else the contact's newest open one, in the pipeline of the stage. */
const moveDeal = async (work: Work, step: StepOf<'move-deal'>, { contact, context }: Doer): Promise<Effect> => {
  const deal = await dealOf(work, contact, { stageId: step.stage, ids: ownDeals(context) })
  if (!deal) return { outcome: 'no open deal' }
  const { moved } = await changeDeal(work, deal.id, { stageId: step.stage })
  return { outcome: moved ? `${deal.id} moved` : `${deal.id} was there` }
}

/**
 * How many runs do the step in one unit of work. What locks rows of more than one kind for each run does it alone: no order
 * of rows would hold for several. Contacts are held by few at a time: the API's writers wait for them.
 */
export const togetherAt = ({ kind }: Step): number => {
  if (kind === 'move-deal' || kind === 'remove-from-list') return 1
  if (kind === 'create-deal') return 16
  return kind === 'update-field' || kind === 'add-to-list' ? 32 : Number.POSITIVE_INFINITY
}

/** Does the step for each of the runs, in the unit of work. Throws Problem where it is refused to one of them. */
export const doStep = async (work: Work, step: Step, doers: readonly Doer[], ports: Ports): Promise<Effect[]> => {
  const alone = doers[0]!
  switch (step.kind) {
    case 'update-field':
      return updateField(work, step, doers)
    case 'add-to-list':
      return addToList(work, step, doers)
    case 'webhook':
      return postCalls(work, step, doers)
    case 'send-email':
      return sendMails(work, step, doers, ports.sendMails)
    case 'remove-from-list':
      return [await removeFromList(work, step, alone)]
    case 'create-deal':
      return makeDeals(work, step, doers)
    case 'move-deal':
      return [await moveDeal(work, step, alone)]
    default:
      throw new Error(`There is no step ${step.kind}`)
  }
}

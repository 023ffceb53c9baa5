import {
  type ContactUpdate,
  joinList,
  leaveList,
  lockContacts,
  normalizeFields,
  readContacts,
  updateContacts,
} from '../../contacts/contacts.ts'
import { changeDeal, createDeal, dealOf, NewDeal, shareBoard } from '../../deals/deals.ts'
import { parse } from '../../lib/parse.ts'
import { Problem } from '../../lib/problem.ts'
import { cut } from '../../lib/strings.ts'
import { meetFilter } from '../../segments/segments.ts'
import type { Work } from '../../store/work.ts'
import type { Step } from '../definition/definition.schema.ts'
import { postCalls, type SendMails, sendMails } from './steps.out.ts'
import { fillTags } from './steps.tags.ts'
import type { Effect, RunAtStep, RunContext, StepOf } from './steps.types.ts'

export type { Effect }

/** Operations of other features that app/ passes to the engine. */
export interface Ports {
  sendMails: SendMails
}

/** Returns the deals that the run created, newest first. */
const createdDeals = ({ madeDealIds }: RunContext): string[] => (madeDealIds as string[] | undefined) ?? []

/** Returns the deal that started the run, then the deals that it created. */
const ownDeals = (context: RunContext): string[] => [
  ...(typeof context.dealId === 'string' ? [context.dealId] : []),
  ...createdDeals(context),
]

const titleMaxLength = 200

/** Emits no contact events (docs/reference/events.md#sources). Of several runs of one contact the last one sets the value, so one update does. */
const updateField = async (work: Work, step: StepOf<'update-field'>, runs: readonly RunAtStep[]): Promise<Effect[]> => {
  const updates = new Map<string, ContactUpdate>()
  for (const run of runs) {
    const value = typeof step.value === 'string' ? fillTags(step.value, run) : step.value
    const { listId, email } = run.contact
    updates.set(`${listId} ${email}`, { listId, email, fields: normalizeFields({ [step.field]: value }) })
  }
  const outcomes = await updateContacts(work, [...updates.values()])
  const results = new Map([...updates].map(([key, { fields }], i) => [key, { outcome: outcomes[i], fields }]))
  return runs.map(({ contact }) => {
    const { outcome, fields } = results.get(`${contact.listId} ${contact.email}`)!
    if (!outcome) return { outcome: 'the contact was removed', contact: null }
    const updatedAt = outcome === 'updated' ? work.now.getTime() : contact.updatedAt
    return { outcome, contact: { ...contact, fields: { ...contact.fields, ...fields }, updatedAt } }
  })
}

/** Copies the contact with its fields and status. A contact that is already in the list stays unchanged. */
const addToList = async (work: Work, step: StepOf<'add-to-list'>, runs: readonly RunAtStep[]): Promise<Effect[]> => {
  const contacts = new Map(runs.map(({ contact }) => [contact.email, contact]))
  const added = new Set(await joinList(work, step.list, [...contacts.values()]))
  return runs.map(({ contact: { email } }) => ({ outcome: added.delete(email) ? 'added' : 'was in the list' }))
}

const removeFromList = async (
  work: Work,
  step: StepOf<'remove-from-list'>,
  { contact }: RunAtStep,
): Promise<Effect> => {
  const { email, listId } = contact
  const outcome = (await leaveList(work, step.list, email)) ? 'removed' : 'was not in the list'
  if (step.list !== listId) return { outcome }
  return { outcome, contact: (await readContacts(work, email))[0] ?? null }
}

const createDealFor = async (work: Work, step: StepOf<'create-deal'>, run: RunAtStep): Promise<Effect> => {
  const { context } = run
  const { listId, rowId } = run.contact
  const { value, currency, pipeline: pipelineId, stage: stageId } = step
  const title = cut(fillTags(step.title, run).trim(), titleMaxLength)
  const input = parse(NewDeal, { title, value, currency, pipelineId, stageId, listId, rowId })
  const { deal } = await createDeal(work, input, { source: 'journey' })
  return { outcome: deal.id, context: { ...context, madeDealIds: [deal.id, ...createdDeals(context)] } }
}

/** Lock order: the board, then the contacts, then the deals. A new deal can start journeys for its contact, which locks the contact. */
const createDeals = async (work: Work, step: StepOf<'create-deal'>, runs: readonly RunAtStep[]): Promise<Effect[]> => {
  await shareBoard(work)
  await lockContacts(
    work,
    runs.map(({ contact }) => contact),
  )
  const effects: Effect[] = []
  for (const run of runs) effects.push(await createDealFor(work, step, run))
  return effects
}

/** Moves the run's own deal, else the contact's newest open deal, in the pipeline of the stage. */
const moveDeal = async (work: Work, step: StepOf<'move-deal'>, { contact, context }: RunAtStep): Promise<Effect> => {
  for (;;) {
    const deal = await dealOf(work, contact, { stageId: step.stage, ids: ownDeals(context) })
    if (!deal) return { outcome: 'no open deal' }
    const changed = await changeDeal(work, deal.id, { stageId: step.stage }).catch((error) => {
      // The deal was deleted meanwhile: another one may match.
      if (error instanceof Problem && error.kind === 'not_found') return null
      throw error
    })
    if (changed) return { outcome: changed.moved ? `${deal.id} moved` : `${deal.id} was there` }
  }
}

/**
 * Returns how many runs may do a step in one unit of work. A step that locks rows of several tables per run does one run: no lock
 * order would cover several. Steps that lock contacts do few, because API requests wait for those locks.
 */
export const batchLimitOf = ({ kind }: Step): number => {
  if (kind === 'move-deal' || kind === 'remove-from-list') return 1
  if (kind === 'create-deal') return 16
  return kind === 'update-field' || kind === 'add-to-list' ? 32 : Number.POSITIVE_INFINITY
}

const branch = async (work: Work, { where }: StepOf<'branch'>, runs: readonly RunAtStep[]): Promise<Effect[]> => {
  const met = await meetFilter(
    work,
    where!,
    runs.map(({ contact }) => contact),
    new Date(runs[0]!.nowMs),
  )
  return met.map((isMet) => ({ side: isMet ? 'then' : 'else' }))
}

/** Does a step for all runs. Returns an effect for each run, in their order. Throws Problem if the step is refused for one of them. */
export const doStep = async (work: Work, step: Step, runs: readonly RunAtStep[], ports: Ports): Promise<Effect[]> => {
  const first = runs[0]!
  switch (step.kind) {
    case 'update-field':
      return updateField(work, step, runs)
    case 'add-to-list':
      return addToList(work, step, runs)
    case 'webhook':
      return postCalls(work, step, runs)
    case 'send-email':
      return sendMails(work, step, runs, ports.sendMails)
    case 'remove-from-list':
      return [await removeFromList(work, step, first)]
    case 'create-deal':
      return createDeals(work, step, runs)
    case 'move-deal':
      return [await moveDeal(work, step, first)]
    case 'branch':
      return branch(work, step, runs)
    default:
      throw new Error(`A ${step.kind} step has no effect`)
  }
}

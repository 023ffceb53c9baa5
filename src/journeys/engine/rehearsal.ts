import { findList, readContacts } from '../../contacts/contacts.ts'
import { pathText } from '../../lib/file-faults.ts'
import { noSuch, Problem } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import type { Definition, Step } from '../definition/definition.schema.ts'
import { pathOf, stepAt } from '../definition/walk.ts'
import { enterJourney } from '../enrolment/enter.ts'
import { applyJourneys, stepsOf, type UrlFaults } from '../files/files.ts'
import { journeyStateOf } from '../journeys.cause.ts'
import { findJourney } from '../journeys.find.ts'
import { showRun } from '../journeys.runs.ts'
import { takeRuns } from './runs.take.ts'
import { callBody, type SendMails } from './steps.out.ts'
import { fieldOf, fillTags, type TagSource } from './steps.tags.ts'
import type { RunAtStep } from './steps.types.ts'
import { act } from './unit.ts'
import { isResting, runControlSteps, startWalk, type Walk } from './walker.ts'

/*
 * A rehearsal walks one contact through a journey file: with the steps of the engine, but with a clock of its own that jumps over waits.
 * It writes what a run writes, so the caller must roll its unit of work back.
 */

/** A step of a rehearsal; times in epoch ms. */
export interface RehearsedStep {
  /** When the run reaches it. */
  at: number
  step: string
  kind: Step['kind']
  outcome: string
  /** Why, or what the step would change. */
  detail: string | null
  /** The end of its wait. */
  until?: number
  email?: { to: string; type: string; project: string; subject: string }
  webhook?: { url: string; body: unknown }
}

export interface Rehearsal {
  journey: string
  email: string
  listId: string
  steps: RehearsedStep[]
  /** When and how the run ends. */
  endedAt: number
  status: string
  reason: string | null
}

interface Request {
  document: unknown
  urlFaults: UrlFaults
  /** A normalised address. */
  email: string
  data: Readonly<Record<string, string>>
}

const shownOf = (value: unknown): string => JSON.stringify(value ?? '')

const whyBranch = ({ if: given, where }: Extract<Step, { kind: 'branch' }>, source: TagSource): string => {
  if (!given) return `the filter is ${where}`
  const { field, ...condition } = given
  const [[operator, value] = []] = Object.entries(condition).filter(([, value]) => value !== undefined)
  return `${field} is ${shownOf(fieldOf(source, field))}; the condition is ${operator} ${shownOf(value)}`
}

interface Journey {
  id: string
  name: string
}

/** Returns what a rehearsal shows of a step beside the engine's outcome, for the contact as it is after the step. */
const describe = async (work: Work, step: Step, run: RunAtStep, journey: Journey): Promise<Partial<RehearsedStep>> => {
  switch (step.kind) {
    case 'branch':
      return { detail: whyBranch(step, run) }
    case 'split':
      return { detail: `at random: ${step.percent} % take side a` }
    case 'update-field':
      return {
        detail: `${step.field} = ${shownOf(typeof step.value === 'string' ? fillTags(step.value, run) : step.value)}`,
      }
    case 'add-to-list':
    case 'remove-from-list':
      return { detail: (await findList(work, step.list)).name }
    case 'create-deal':
      return { detail: fillTags(step.title, run) }
    case 'webhook':
      return { detail: `POST ${step.url}`, webhook: { url: step.url, body: callBody(step, run, journey) } }
    case 'send-email': {
      const project = (await work.sources.project?.(work, step.project))?.name ?? step.project
      const email = { to: run.contact.email, type: step.type, project, subject: fillTags(step.subject ?? project, run) }
      return { detail: `${shownOf(email.subject)}, project ${project}, ${step.type}`, email }
    }
    default:
      return {}
  }
}

/** Enters the contact into the journey of the file, whatever its trigger and its re-entry rule are, and returns the walk of its run. */
const begin = async (work: Work, { document, urlFaults, email, data }: Request) => {
  const [applied] = await applyJourneys(work, [document], { urlFaults })
  const { id, name, version, definition } = await findJourney(work, applied!.id!)
  const contacts = await readContacts(work, email)
  const { trigger } = definition
  const inList = trigger.kind === 'list-added' ? contacts.find(({ listId }) => listId === trigger.list) : undefined
  const contact = inList ?? contacts[0]
  if (!contact) throw noSuch('contact', email, { hint: 'svc contacts upsert' })
  const { listId, rowId } = contact
  const journey = { id, version, definition: { ...definition, reentry: 'always' as const } }
  const runIds = await enterJourney(work, journey, [{ listId, rowId, email, context: { data } }])
  const [run] = await takeRuns(work, id, runIds, { isRehearsal: true })
  if (!run) throw new Problem('conflict', 'The contact has changed meanwhile: try again')
  return { journey: { id, name }, walk: startWalk(run, definition, contact, work.now.getTime()) }
}

/** Returns the walk after the wait that it is in: a delay or a `wait-for` whose time is over, or a call that was answered. */
const resumed = (walk: Walk): Walk => {
  const { state } = walk
  if (state.deliveryId === null) return { ...walk, nowMs: state.dueAt }
  const delivery = { id: state.deliveryId, status: 'delivered', attempts: 1, lastStatus: 200, lastError: null }
  const context = { ...state.context, delivery }
  return { ...walk, state: { ...state, status: 'running', deliveryId: null, context } }
}

/** Returns the outcome as a rehearsal words it: the engine's names rows that a rehearsal does not leave. */
const wouldBe = ({ kind }: Step, outcome: string, { state }: Walk): string => {
  if (outcome === 'queued') return 'would be sent'
  return kind === 'create-deal' && state.status !== 'failed' ? 'would be created' : outcome
}

/** Steps by their path, as the step log writes it. */
const stepsByPath = (definition: Definition): Map<string, Step> =>
  new Map(Array.from(stepsOf(definition), ({ step, path }) => [pathText(path), step as Step]))

const waiting = ({ state, definition }: Walk): Partial<RehearsedStep> => {
  const step = stepAt(definition, state.cursor!)
  if (step.kind === 'webhook') return { outcome: 'would be posted; an answer of 200 is assumed' }
  const until = state.dueAt
  if (step.kind !== 'wait-for') return { outcome: 'waits', until }
  return { outcome: 'else', detail: `assumed: no ${step.event} in ${step.timeout}`, until }
}

/**
 * Walks the contact through the journey of the file, and returns each step with its time and what it would do. A `wait-for` is assumed
 * to get no event, a webhook an answer of 200. Writes what a run would write: the caller must roll the unit of work back. Throws
 * Problem `invalid` for a file that `apply` would refuse, `not_found` for an address that is in no list.
 */
export const rehearse = async (work: Work, sendMails: SendMails, request: Request): Promise<Rehearsal> => {
  const begun = await begin(work, request)
  const { journey } = begun
  let { walk } = begun
  const { run, definition } = walk
  const byPath = stepsByPath(definition)
  const steps: RehearsedStep[] = []
  let logged = 0

  const add = async (path: string, given: Partial<RehearsedStep>) => {
    const step = byPath.get(path)!
    const { nowMs: at, state, contact, lastContact } = walk
    const atStep = { runId: run.id, journeyId: run.journeyId, stepNo: state.stepNo, context: state.context, nowMs: at }
    const described = await describe(work, step, { ...atStep, contact: contact ?? lastContact! }, journey)
    steps.push({ at, step: path, kind: step.kind, outcome: '', detail: null, ...given, ...described })
  }

  const addDone = async () => {
    for (const { step, outcome } of walk.done.slice(logged)) {
      // A step that waited was added when its wait began.
      const isAdded = steps.some((one) => one.step === step)
      if (!isAdded) await add(step, { outcome: wouldBe(byPath.get(step)!, outcome, walk) })
    }
    logged = walk.done.length
  }

  const { ended } = journeyStateOf(work)
  runControlSteps(walk)
  for (;;) {
    await addDone()
    if (walk.state.cursor === null || ended.has(run.id)) break
    if (isResting(walk)) {
      await add(pathOf(walk.state.cursor), waiting(walk))
      walk = resumed(walk)
      runControlSteps(walk)
    } else await act(work, [walk], { sendMails })
  }

  const end = ended.has(run.id) ? await showRun(work, journey.id, run.id) : walk.state
  const { email, listId } = run
  return { journey: journey.name, email, listId, steps, endedAt: walk.nowMs, status: end.status, reason: end.reason }
}

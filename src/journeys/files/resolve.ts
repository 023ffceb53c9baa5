import { findList } from '../../contacts/contacts.ts'
import { findPipeline, findStage } from '../../deals/deals.ts'
import { type Fault, type Path, recordOf } from '../../lib/file-faults.ts'
import { Problem } from '../../lib/problem.ts'
import { resolveFilter } from '../../segments/segments.ts'
import type { Work } from '../../store/work.ts'
import { sides } from '../definition/walk.ts'

interface PlacedStep {
  step: Record<string, unknown>
  path: Path
}

function* stepsIn(steps: unknown, path: Path): Generator<PlacedStep> {
  if (!Array.isArray(steps)) return
  for (const [i, value] of steps.entries()) {
    const step = recordOf(value)
    if (!step) continue
    yield { step, path: [...path, i] }
    for (const side of sides) yield* stepsIn(step[side], [...path, i, side])
  }
}

/** Yields every step of an unchecked file with its path, a step before the steps in its sides. Skips values that are no steps. */
export const stepsOf = (file: unknown): Generator<PlacedStep> => stepsIn(recordOf(file)?.steps, ['steps'])

/**
 * Finds the objects of later features that definitions name, by id or name; throws Problem `not_found`. References of a kind that
 * is absent here are kept as they are written.
 */
export type Sources = {
  readonly [kind in 'project' | 'sender' | 'form' | 'webinar' | 'course']?: (
    work: Work,
    ref: string,
  ) => Promise<{ id: string; name?: string }>
}

type Property = 'list' | 'pipeline' | 'stage' | 'from' | keyof Sources

/** The properties of each kind of trigger and step that refer to something by name. */
const named: Record<string, readonly Property[]> = {
  'list-added': ['list'],
  'form-submitted': ['form'],
  'deal-stage-changed': ['pipeline', 'stage', 'from'],
  interaction: ['project'],
  'course-enrolled': ['course'],
  'webinar-registered': ['webinar'],
  'webinar-attended': ['webinar'],
  'webinar-missed': ['webinar'],
  'send-email': ['project', 'sender'],
  'add-to-list': ['list'],
  'remove-from-list': ['list'],
  'create-deal': ['pipeline', 'stage'],
  'move-deal': ['stage'],
}

/** `pipelineId` is the pipeline of a stage, or the pipeline itself. */
interface Found {
  id: string
  pipelineId?: string
}

/** Where to search for a stage: in `pipeline` if the step names one, else in all pipelines, with `preferred` first. */
interface Where {
  pipeline?: string | undefined
  preferred?: string | undefined
}

type Find = (property: Property, ref: string, where: Where) => Promise<Found>

const find = async (work: Work, property: Property, ref: string, { pipeline, preferred }: Where): Promise<Found> => {
  if (property === 'list') return { id: (await findList(work, ref)).id }
  if (property === 'pipeline') {
    const { id } = await findPipeline(work, ref)
    return { id, pipelineId: id }
  }
  if (property !== 'stage' && property !== 'from') {
    const source = work.sources[property]
    return source ? { id: (await source(work, ref)).id } : { id: ref }
  }
  const stage = await findStage(work, ref, pipeline, preferred)
  return { id: stage.id, pipelineId: stage.pipeline.id }
}

/** Caches lookups: a definition often repeats a name. */
const finder = (work: Work): Find => {
  const known = new Map<string, Promise<Found>>()
  return (property, ref, where) => {
    const key = JSON.stringify([property, ref, where.pipeline, where.preferred])
    const found = known.get(key) ?? find(work, property, ref, where)
    known.set(key, found)
    return found
  }
}

const holdersIn = (file: unknown): { holder: Record<string, unknown>; path: Path }[] => {
  const trigger = recordOf(recordOf(file)?.trigger)
  const steps = Array.from(stepsOf(file), ({ step, path }) => ({ holder: step, path }))
  return trigger ? [{ holder: trigger, path: ['trigger'] }, ...steps] : steps
}

interface Resolved {
  /** It is null if all names were found. */
  fault: Fault | null
  pipelineId: string | undefined
}

/** Replaces the names in one trigger or step with ids. */
const resolveHolder = async (
  work: Work,
  find: Find,
  holder: Record<string, unknown>,
  path: Path,
  preferred: string | undefined,
): Promise<Resolved> => {
  let pipelineId: string | undefined
  if (holder.kind === 'branch' && typeof holder.where === 'string')
    try {
      holder.where = await resolveFilter(work, holder.where)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { fault: { path: [...path, 'where'], message: error.message }, pipelineId }
    }
  for (const property of named[String(holder.kind)] ?? []) {
    const ref = holder[property]
    if (typeof ref !== 'string' || ref === '') continue
    try {
      const pipeline = typeof holder.pipeline === 'string' ? holder.pipeline : undefined
      const found = await find(property, ref, { pipeline, preferred: preferred ?? pipelineId })
      holder[property] = found.id
      pipelineId ??= found.pipelineId
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const { message, detail } = error
      return { fault: { path: [...path, property], message, hint: detail.hint }, pipelineId }
    }
  }
  return { fault: null, pipelineId }
}

/** Whether every run at `path` has done the earlier step at `step`: both are in one list of steps, or `step` is in an enclosing one. */
const isBefore = (step: Path, path: Path): boolean => step.slice(0, -1).every((part, i) => part === path[i])

/**
 * Replaces the names in `file` with ids, in place, and returns an error for each name that was not found. A name without a source
 * (`work.sources`) stays. Accepts files with other errors. A stage is searched first in the trigger's pipeline; if the trigger has
 * none, a `move-deal` prefers the pipeline of the last `create-deal` before it.
 */
export const resolveNames = async (work: Work, file: unknown): Promise<Fault[]> => {
  const find = finder(work)
  const faults: Fault[] = []
  const createdDeals: { path: Path; pipelineId: string | undefined }[] = []
  let triggerPipelineId: string | undefined
  for (const { holder, path } of holdersIn(file)) {
    const last = holder.kind === 'move-deal' ? createdDeals.findLast((deal) => isBefore(deal.path, path)) : undefined
    const { fault, pipelineId } = await resolveHolder(work, find, holder, path, triggerPipelineId ?? last?.pipelineId)
    if (fault) faults.push(fault)
    if (path[0] === 'trigger') triggerPipelineId = pipelineId
    if (holder.kind === 'create-deal') createdDeals.push({ path, pipelineId })
  }
  return faults
}

import { findList } from '../contacts/contacts.ts'
import { findPipeline, findStage } from '../deals/deals.ts'
import { type Fault, type Path, recordOf } from '../lib/faults.ts'
import { Problem } from '../lib/problem.ts'
import type { Sources, Work } from '../store/work.ts'
import { stepsOf } from './journeys.tree.ts'

type Property = 'list' | 'pipeline' | 'stage' | 'from' | keyof Sources

/** Which properties of which kinds name something. All others are kept as they are. */
const named: Record<string, readonly Property[]> = {
  'list-added': ['list'],
  'form-submitted': ['form'],
  'deal-stage-changed': ['pipeline', 'stage', 'from'],
  interaction: ['project'],
  'course-enrolled': ['course'],
  'webinar-registered': ['webinar'],
  'send-email': ['project'],
  'add-to-list': ['list'],
  'remove-from-list': ['list'],
  'create-deal': ['pipeline', 'stage'],
  'move-deal': ['stage'],
}

/** `pipelineId`: of a stage, or the pipeline itself. */
interface Found {
  id: string
  pipelineId?: string
}

/** Where a stage is looked for: in the pipeline that its holder names, else in all, first in the one that is near. */
interface Where {
  pipeline?: string | undefined
  near?: string | undefined
}

type Find = (property: Property, ref: string, where: Where) => Promise<Found>

const find = async (work: Work, property: Property, ref: string, { pipeline, near }: Where): Promise<Found> => {
  if (property === 'list') return { id: (await findList(work, ref)).id }
  if (property === 'pipeline') {
    const { id } = await findPipeline(work, ref)
    return { id, pipelineId: id }
  }
  if (property !== 'stage' && property !== 'from') {
    const source = work.sources[property]
    return source ? { id: (await source(work, ref)).id } : { id: ref }
  }
  const stage = await findStage(work, ref, pipeline, near)
  return { id: stage.id, pipelineId: stage.pipeline.id }
}

/** Each looked up once: a definition says the same name again and again. */
const finder = (work: Work): Find => {
  const known = new Map<string, Promise<Found>>()
  return (property, ref, where) => {
    const key = JSON.stringify([property, ref, where.pipeline, where.near])
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
  /** null where all its names were found. */
  fault: Fault | null
  pipelineId: string | undefined
}

/** Changes one trigger or step. */
const resolveHolder = async (
  find: Find,
  holder: Record<string, unknown>,
  path: Path,
  near: string | undefined,
): Promise<Resolved> => {
  let pipelineId: string | undefined
  for (const property of named[String(holder.kind)] ?? []) {
    const ref = holder[property]
    if (typeof ref !== 'string' || ref === '') continue
    try {
      const pipeline = typeof holder.pipeline === 'string' ? holder.pipeline : undefined
      const found = await find(property, ref, { pipeline, near: near ?? pipelineId })
      holder[property] = found.id
      pipelineId ??= found.pipelineId
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { fault: { path: [...path, property], message: error.message }, pipelineId }
    }
  }
  return { fault: null, pipelineId }
}

/** Whether a run that is at `path` has done the step at `step`: it stands in the same steps, or in those around them. */
const isBefore = (step: Path, path: Path): boolean => step.slice(0, -1).every((part, i) => part === path[i])

/**
 * Puts ids in place of the names in `file`, which is changed, and gives what could not be found. What no source knows
 * (`work.sources`) stays as it is named. A file that is otherwise faulty is looked through as far as it can be. Near to a step is the pipeline of
 * the trigger; without one, to a `move-deal`, that of the deal made last before it.
 */
export const resolveNames = async (work: Work, file: unknown): Promise<Fault[]> => {
  const find = finder(work)
  const faults: Fault[] = []
  const made: { path: Path; pipelineId: string | undefined }[] = []
  let triggered: string | undefined
  for (const { holder, path } of holdersIn(file)) {
    const last = holder.kind === 'move-deal' ? made.findLast((deal) => isBefore(deal.path, path)) : undefined
    const { fault, pipelineId } = await resolveHolder(find, holder, path, triggered ?? last?.pipelineId)
    if (fault) faults.push(fault)
    if (path[0] === 'trigger') triggered = pipelineId
    if (holder.kind === 'create-deal') made.push({ path, pipelineId })
  }
  return faults
}

import { findList } from '../contacts/contacts.ts'
import { findPipeline, findStage } from '../deals/deals.ts'
import { Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { Fault } from './journeys.check.ts'
import { type Path, recordOf, stepsOf } from './journeys.tree.ts'

type Property = 'list' | 'pipeline' | 'stage' | 'from'

/** Which properties of which kinds name a list, a pipeline or a stage. All others are kept as they are. */
const named: Record<string, readonly Property[]> = {
  'list-added': ['list'],
  'deal-stage-changed': ['pipeline', 'stage', 'from'],
  'add-to-list': ['list'],
  'remove-from-list': ['list'],
  'create-deal': ['pipeline', 'stage'],
  'move-deal': ['stage'],
}

type Find = (property: Property, ref: string, pipeline: string | undefined) => Promise<string>

const find = async (work: Work, property: Property, ref: string, pipeline: string | undefined): Promise<string> => {
  if (property === 'list') return (await findList(work, ref)).id
  if (property === 'pipeline') return (await findPipeline(work, ref)).id
  return (await findStage(work, ref, pipeline)).id
}

/** Each looked up once: a definition says the same name again and again. */
const finder = (work: Work): Find => {
  const known = new Map<string, Promise<string>>()
  return (property, ref, pipeline) => {
    const key = JSON.stringify([property, ref, pipeline])
    const found = known.get(key) ?? find(work, property, ref, pipeline)
    known.set(key, found)
    return found
  }
}

const holdersIn = (file: unknown): { holder: Record<string, unknown>; path: Path }[] => {
  const trigger = recordOf(recordOf(file)?.trigger)
  const steps = Array.from(stepsOf(file), ({ step, path }) => ({ holder: step, path }))
  return trigger ? [{ holder: trigger, path: ['trigger'] }, ...steps] : steps
}

/** Changes one trigger or step; null where all its names were found. */
const resolveHolder = async (find: Find, holder: Record<string, unknown>, path: Path): Promise<Fault | null> => {
  for (const property of named[String(holder.kind)] ?? []) {
    const ref = holder[property]
    if (typeof ref !== 'string' || ref === '') continue
    try {
      holder[property] = await find(property, ref, typeof holder.pipeline === 'string' ? holder.pipeline : undefined)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { path: [...path, property], message: error.message }
    }
  }
  return null
}

/**
 * Puts the ids of lists, pipelines and stages in place of their names in `file`, which is changed, and gives what could
 * not be found. A file that is otherwise faulty is looked through as far as it can be.
 */
export const resolveNames = async (work: Work, file: unknown): Promise<Fault[]> => {
  const find = finder(work)
  const faults: Fault[] = []
  for (const { holder, path } of holdersIn(file)) {
    const fault = await resolveHolder(find, holder, path)
    if (fault) faults.push(fault)
  }
  return faults
}

import { type Checked, type Fault, faultText, type Path, pathText, recordOf, shapeFaults } from '../lib/faults.ts'
import { Problem } from '../lib/problem.ts'
import { parseCidrs } from '../net/addresses.ts'
import { checkWebhookUrl } from '../net/webhook-url.ts'
import type { App, Work } from '../store/work.ts'
import { isHttpUrl, JourneyFile } from './journeys.definition.ts'
import { resolveNames } from './journeys.resolve.ts'
import { stepsOf } from './journeys.tree.ts'

const maxSteps = 200
const maxNesting = 10

const isEmpty = (side: unknown) => side === undefined || (Array.isArray(side) && side.length === 0)

/** What no shape can say: how the steps stand to each other. */
const structureFaults = (file: unknown): Fault[] => {
  const faults: Fault[] = []
  const ids = new Map<unknown, Path>()
  let count = 0
  for (const { step, path } of stepsOf(file)) {
    count++
    const twin = step.id === undefined ? undefined : ids.get(step.id)
    if (twin) faults.push({ path: [...path, 'id'], message: `is the id of ${pathText(twin)} too` })
    else ids.set(step.id, path)
    // A step at the top has a path of two parts, and each level below adds two.
    if (path.length === 2 * (maxNesting + 1)) faults.push({ path, message: `is nested more than ${maxNesting} deep` })
    const isBare =
      (step.kind === 'branch' && Array.isArray(step.then) && isEmpty(step.then) && isEmpty(step.else)) ||
      (step.kind === 'split' && Array.isArray(step.a) && isEmpty(step.a) && isEmpty(step.b))
    if (isBare) faults.push({ path, message: 'must have a step in one of its sides' })
  }
  if (count > maxSteps) faults.push({ path: ['steps'], message: `must have at most ${maxSteps} steps in all` })
  return faults
}

/** Checks one document whole: the journey with its names resolved, or every fault, each with its path. */
export const checkJourney = async (work: Work, document: unknown): Promise<Checked<JourneyFile>> => {
  if (!recordOf(document)) return { file: null, faults: ['a journey must be an object with name, trigger and steps'] }
  const checked = JourneyFile.safeParse(document)
  const ofShape = checked.success ? [] : shapeFaults(checked.error, 'the journey')
  const file = checked.success ? checked.data : structuredClone(document)
  const others = [...structureFaults(document), ...(await resolveNames(work, file))]
  const faults = [...ofShape, ...others.map(faultText)]
  return checked.success && faults.length === 0 ? { file: checked.data, faults: null } : { file: null, faults }
}

/** What is wrong with the URLs of each document, in the order of the documents. */
export type UrlFaults = readonly (readonly string[])[]

/**
 * Judges the URLs of webhook steps as a subscription's URL is judged (decisions.md, Webhooks: public URL). Looks up names, so
 * it is called before the unit of work that applies the documents.
 */
export const judgeUrls = async (
  { config, resolver }: Pick<App, 'config' | 'resolver'>,
  documents: readonly unknown[],
): Promise<UrlFaults> => {
  const allow = parseCidrs(config.allowPrivateWebhooks.join(','))
  const judged = new Map<string, Promise<string | null>>()
  const judge = (url: string) => {
    const known = judged.get(url)
    if (known) return known
    const fault = checkWebhookUrl(url, { resolver, allow }).then(
      () => null,
      (error) => {
        if (!(error instanceof Problem)) throw error
        return error.message.replace(/^url /, '')
      },
    )
    judged.set(url, fault)
    return fault
  }
  return Promise.all(
    documents.map(async (document) => {
      const faults: string[] = []
      for (const { step, path } of stepsOf(document)) {
        // What is no URL at all is a fault of the file's shape.
        if (step.kind !== 'webhook' || typeof step.url !== 'string' || !isHttpUrl(step.url)) continue
        const message = await judge(step.url)
        if (message !== null) faults.push(faultText({ path: [...path, 'url'], message }))
      }
      return faults
    }),
  )
}

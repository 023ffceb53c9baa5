import { eventTypes } from '../../events/events.ts'
import {
  type Checked,
  type Fault,
  faultText,
  type Path,
  pathText,
  recordOf,
  shapeFaults,
} from '../../lib/file-faults.ts'
import { Problem } from '../../lib/problem.ts'
import { parseCidrs } from '../../net/addresses.ts'
import { checkWebhookUrl } from '../../net/webhook-url.ts'
import type { App, Work } from '../../store/work.ts'
import { parseAwaited } from '../definition/awaited.ts'
import { isHttpUrl, JourneyFile } from '../definition/definition.schema.ts'
import { resolveNames, stepsOf } from './resolve.ts'

const maxSteps = 200
const maxNesting = 10

const isEmpty = (side: unknown) => side === undefined || (Array.isArray(side) && side.length === 0)

/** Returns the errors that the schema can't express: duplicate ids, nesting, empty sides, the number of steps. */
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
    const hasNoSteps =
      (step.kind === 'branch' && Array.isArray(step.then) && isEmpty(step.then) && isEmpty(step.else)) ||
      (step.kind === 'split' && Array.isArray(step.a) && isEmpty(step.a) && isEmpty(step.b))
    if (hasNoSteps) faults.push({ path, message: 'must have a step in one of its sides' })
  }
  if (count > maxSteps) faults.push({ path: ['steps'], message: `must have at most ${maxSteps} steps in all` })
  return faults
}

/** Returns an error for each invalid filter of a `wait-for` step. */
const filterFaults = (file: unknown): Fault[] =>
  [...stepsOf(file)].flatMap(({ step, path }) => {
    const event = eventTypes.find((type) => type === step.event)
    if (step.kind !== 'wait-for' || typeof step.where !== 'string' || !event) return []
    try {
      parseAwaited(event, step.where)
      return []
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return [{ path: [...path, 'where'], message: error.message }]
    }
  })

/** Returns the journey of a document with its names resolved, or all its errors, each with its path. */
export const checkJourney = async (work: Work, document: unknown): Promise<Checked<JourneyFile>> => {
  if (!recordOf(document)) return { file: null, faults: ['a journey must be an object with name, trigger and steps'] }
  const checked = JourneyFile.safeParse(document)
  const schemaFaults = checked.success ? [] : shapeFaults(checked.error, 'the journey')
  const file = checked.success ? checked.data : structuredClone(document)
  const others = [...structureFaults(document), ...filterFaults(document), ...(await resolveNames(work, file))]
  const faults = [...schemaFaults, ...others.map(faultText)]
  if (checked.success && faults.length === 0) return { file: checked.data, faults: null }
  return { file: null, faults, hint: others.find(({ hint }) => hint !== undefined)?.hint }
}

/** The errors of each document's URLs, in the order of the documents. */
export type UrlFaults = readonly (readonly string[])[]

/**
 * Checks the URLs of webhook steps with the rules for subscriptions (docs/reference/events.md#public-urls). It resolves host names,
 * so call it before the unit of work that applies the documents.
 */
export const checkStepUrls = async (
  { config, resolver }: Pick<App, 'config' | 'resolver'>,
  documents: readonly unknown[],
): Promise<UrlFaults> => {
  const allow = parseCidrs(config.allowPrivateWebhooks.join(','))
  const checks = new Map<string, Promise<string | null>>()
  const check = (url: string) =>
    checks.getOrInsertComputed(url, () =>
      checkWebhookUrl(url, { resolver, allow }).then(
        () => null,
        (error) => {
          if (!(error instanceof Problem)) throw error
          return error.message.replace(/^url /, '')
        },
      ),
    )
  return Promise.all(
    documents.map(async (document) => {
      const faults: string[] = []
      for (const { step, path } of stepsOf(document)) {
        // The schema reports values that are no URL.
        if (step.kind !== 'webhook' || typeof step.url !== 'string' || !isHttpUrl(step.url)) continue
        const message = await check(step.url)
        if (message !== null) faults.push(faultText({ path: [...path, 'url'], message }))
      }
      return faults
    }),
  )
}

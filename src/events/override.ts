import { Problem, shown } from '../lib/problem.ts'
import type { WebhookEvent } from './shapes.ts'

type Node = Record<string, unknown>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const unknownPath = (path: string, at: string, node: unknown) =>
  new Problem('usage', `The sample has no ${shown(path)}`, {
    hint: isNode(node) ? `${at} has ${Object.keys(node).join(', ')}` : `${at} is a plain value`,
  })

/** Changes own properties only, so that `__proto__` and `constructor` are unknown paths. */
const override = (event: Node, path: string, text: string): void => {
  const keys = path.split('.')
  const last = keys.pop()!
  if (keys[0] !== 'data')
    throw new Problem('usage', `${shown(path)} is not inside data`, { hint: 'name it like data.deal.value' })
  if (path === 'data.test') throw new Problem('usage', 'data.test stays true: it says that this is a test')
  let node: unknown = event
  for (const [depth, key] of [...keys, last].entries()) {
    if (!isNode(node) || !Object.hasOwn(node, key) || (Array.isArray(node) && key === 'length')) {
      throw unknownPath(path, keys.slice(0, depth).join('.'), node)
    }
    if (depth < keys.length) node = node[key]
    else node[key] = parsed(text)
  }
}

/**
 * Returns the event with some values replaced (`--set data.deal.value=9`). A value that parses as JSON is used as JSON, else as
 * text. Throws Problem `usage` for a path that the event does not have.
 */
export const overrideData = (
  event: WebhookEvent,
  sets: readonly (readonly [path: string, value: string])[],
): WebhookEvent => {
  const changed = structuredClone(event)
  for (const [path, value] of sets) override(changed as unknown as Node, path, value)
  return changed
}

/** Returns the event with `data` from a file (`--data @file`). It keeps `test: true`. Throws Problem `usage` if `data` is no object. */
export const replaceData = (event: WebhookEvent, data: unknown): WebhookEvent => {
  if (!isNode(data) || Array.isArray(data)) throw new Problem('usage', 'The data of an event must be a JSON object')
  const mark = event.data.test ? { test: true } : {}
  return { ...event, data: { ...data, ...mark } as unknown as WebhookEvent['data'] }
}

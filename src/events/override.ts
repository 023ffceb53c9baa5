import { Problem } from '../lib/problem.ts'
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
  new Problem('usage', `The sample has no ${path}`, {
    hint: isNode(node) ? `${at} has ${Object.keys(node).join(', ')}` : `${at} is a plain value`,
  })

/** Own properties only: neither `__proto__` nor `constructor` is one of a JSON value. */
const override = (event: Node, path: string, text: string): void => {
  const keys = path.split('.')
  const last = keys.pop()!
  if (keys[0] !== 'data')
    throw new Problem('usage', `${path} is not inside data`, { hint: 'name it like data.deal.value' })
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
 * The event with some of its values replaced (`--set data.deal.value=9`): a value is JSON where it parses, else text. A
 * path that the event does not have is a Problem `usage`, never ignored.
 */
export const overrideData = (
  event: WebhookEvent,
  sets: readonly (readonly [path: string, value: string])[],
): WebhookEvent => {
  const changed = structuredClone(event)
  for (const [path, value] of sets) override(changed as unknown as Node, path, value)
  return changed
}

/** The event with `data` from a file (`--data @file`), its mark as a test send kept. */
export const replaceData = (event: WebhookEvent, data: unknown): WebhookEvent => {
  if (!isNode(data) || Array.isArray(data)) throw new Problem('usage', 'The data of an event must be a JSON object')
  const mark = event.data.test ? { test: true } : {}
  return { ...event, data: { ...data, ...mark } as unknown as WebhookEvent['data'] }
}

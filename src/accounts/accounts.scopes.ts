/** What an API key may be limited to. A key without scopes may call everything. */
export const scopes = [
  'contacts',
  'contacts:read',
  'send',
  'deals',
  'journeys',
  'webinars',
  'courses',
  'webhooks',
] as const
export type Scope = (typeof scopes)[number]

/** The scope of the routes below each first segment of a path. */
const scopeOfSegment: Readonly<Record<string, Scope>> = {
  contacts: 'contacts',
  lists: 'contacts',
  send: 'send',
  deals: 'deals',
  pipelines: 'deals',
  journeys: 'journeys',
  webinars: 'webinars',
  courses: 'courses',
  webhooks: 'webhooks',
  events: 'webhooks',
}

/** Returns the scopes each of which allows a route; none for a path that the table does not have: only keys without scopes may call it. */
export const scopesOf = ({ method, path }: { method: string; path: string }): readonly Scope[] => {
  const scope = scopeOfSegment[path.split('/')[1]!]
  if (!scope) return []
  return scope === 'contacts' && method === 'GET' ? [scope, 'contacts:read'] : [scope]
}

/** Whether a key with these scopes (null: none were named) may call a route that one of `allowed` allows. */
export const isInScope = (held: readonly string[] | null, allowed: readonly Scope[]): boolean =>
  held === null || allowed.some((scope) => held.includes(scope))

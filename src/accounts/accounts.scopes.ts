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
  'suppressions',
  'campaigns',
] as const
export type Scope = (typeof scopes)[number]

/** The scope of the routes below each first segment of a path. */
const scopeOfSegment: Readonly<Record<string, Scope>> = {
  contacts: 'contacts',
  lists: 'contacts',
  erasures: 'contacts',
  send: 'send',
  sends: 'send',
  deals: 'deals',
  pipelines: 'deals',
  journeys: 'journeys',
  webinars: 'webinars',
  courses: 'courses',
  webhooks: 'webhooks',
  events: 'webhooks',
  suppressions: 'suppressions',
  topics: 'suppressions',
  preferences: 'suppressions',
  segments: 'campaigns',
  broadcasts: 'campaigns',
}

/** Routes whose scope is not that of their first segment. */
const scopeOfRoute: Readonly<Record<string, Scope>> = { 'POST /events': 'journeys' }

/** Returns the scopes of which a key needs one to call a route. It returns none if only keys without scopes may call it. */
export const scopesOf = ({ method, path }: { method: string; path: string }): readonly Scope[] => {
  const scope = scopeOfRoute[`${method} ${path}`] ?? scopeOfSegment[path.split('/')[1]!]
  if (!scope) return []
  return scope === 'contacts' && method === 'GET' ? [scope, 'contacts:read'] : [scope]
}

/** Returns whether a key with the scopes `held` has at least one of the scopes `allowed`. One without scopes (null) has all. */
export const isInScope = (held: readonly string[] | null, allowed: readonly Scope[]): boolean =>
  held === null || allowed.some((scope) => held.includes(scope))

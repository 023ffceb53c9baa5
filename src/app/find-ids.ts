import type { Context } from '../cli/command.ts'
import type { Lookups } from '../cli/run.ts'
import { Problem } from '../lib/problem.ts'
import { number } from '../lib/quantity.ts'
import { forceIndexOrder } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/*
 * Finds the ids that end with a few characters: tables show only those on narrow terminals. No index finds the end of an id,
 * and one for it would slow down every insert into the largest tables. So the newest rows are read from the index of the
 * primary key, up to a maximum.
 */

/** How many of the newest rows of a table are searched. */
export const searchedRows = 100_000

/** An error names at most this many ids with the same end. */
const namedIds = 5

interface Found {
  /** The number of rows that were searched. */
  searched: number
  ids: string[] | null
}

/**
 * Declares the search of a table. `name` is a column by which commands find a row, too. If a row has the text as its name, the
 * search finds no id.
 */
const search = (table: string, { name, id = 'id' }: { name?: string; id?: string } = {}) => {
  const isOfAccount = table === 'accounts' ? ':accountId::text is not null' : 'account_id = :accountId'
  const isName = name ? `and not exists (select from ${table} where ${isOfAccount} and ${name} = :end)` : ''
  return statement(
    `find-${table}-by-end`,
    { row: { searched: 'int4', ids: '_text?' }, parameters: { accountId: 'text', end: 'text' } },
    `select count(*)::int as searched, array_agg(id) filter (where right(id, length(:end)) = :end ${isName}) as ids
     from (select ${id} as id from ${table} where ${isOfAccount} order by ${id} desc limit ${searchedRows}) newest`,
  )
}

const title = { name: 'title' }
const named = { name: 'name' }

/** The tables that hold the rows of a noun. */
const searches = {
  accounts: [search('accounts', named)],
  bookings: [search('bookings')],
  broadcasts: [search('broadcasts', named)],
  courses: [search('courses', title)],
  deals: [search('deals')],
  deliveries: [search('pending_deliveries'), search('ended_deliveries')],
  events: [search('events')],
  forms: [search('forms', named)],
  imports: [search('imports')],
  journeys: [search('journeys', named)],
  keys: [search('api_keys')],
  lessons: [search('lessons')],
  lists: [search('contact_lists', named)],
  payments: [search('payment_orders')],
  pipelines: [search('pipelines', named)],
  projects: [search('projects', named)],
  registrations: [search('webinar_registrations')],
  rows: [search('contacts', { id: 'row_id' })],
  runs: [search('journey_runs')],
  segments: [search('segments', named)],
  senders: [search('senders')],
  sends: [search('messages')],
  stages: [search('stages', named)],
  topics: [search('topics', named)],
  webhooks: [search('delivery_targets')],
  webinars: [search('webinars', title)],
} satisfies Readonly<Record<string, readonly ReturnType<typeof search>[]>>

type NounWithIds = keyof typeof searches

export const hasIds = (noun: string): noun is NounWithIds => Object.hasOwn(searches, noun)

/** Returns the id that ends with a text, or undefined if there is none. Throws Problem `usage` if there are several. */
export const onlyId = (noun: string, end: string, ids: readonly string[]): string | undefined => {
  if (ids.length < 2) return ids[0]
  const shown = `${ids.toSorted().slice(0, namedIds).join(', ')}${ids.length > namedIds ? ' and others' : ''}`
  throw new Problem('usage', `Several ${noun} have an id that ends with ${end}: ${shown}`)
}

const naming = (table: string, name: string) =>
  statement(
    `name-${table}`,
    { row: { id: 'text', name: 'text' }, parameters: { accountId: 'text', ids: '_text' } },
    `select id, ${name} as name from ${table} where account_id = :accountId and id = any(:ids)`,
  )

/** The statements that name what people refer to by name, by the prefix of its ids. */
const namings: Readonly<Record<string, ReturnType<typeof naming>>> = {
  bct: naming('broadcasts', 'name'),
  crs: naming('courses', 'title'),
  frm: naming('forms', 'name'),
  jrn: naming('journeys', 'name'),
  lst: naming('contact_lists', 'name'),
  pipe: naming('pipelines', 'name'),
  prj: naming('projects', 'name'),
  seg: naming('segments', 'name'),
  stg: naming('stages', 'name'),
  top: naming('topics', 'name'),
  web: naming('webinars', 'title'),
}

/** Returns the names of those ids whose things have one. */
export const namesOf: Lookups['namesOf'] = async ({ app, account }, ids) => {
  const names = new Map<string, string>()
  const byPrefix = Map.groupBy(ids, (id) => id.slice(0, id.indexOf('_')))
  for (const [prefix, those] of byPrefix) {
    if (!Object.hasOwn(namings, prefix)) continue
    const named = await app.sql(namings[prefix]!, { accountId: (await account()).id, ids: those })
    for (const { id, name } of named) names.set(id, name)
  }
  return names
}

/**
 * Returns the id of a noun that ends with a text; undefined if there is none, or a row has that name. Throws Problem `usage`
 * if there are several, and Problem `not_found` if there is none among the searched rows, but the table has more.
 */
export const findIdByEnd = async (context: Context, noun: NounWithIds, end: string): Promise<string | undefined> => {
  const accountId = noun === 'accounts' ? '' : (await context.account()).id
  const found: Found[] = []
  for (const each of searches[noun])
    found.push(...(await context.app.database.transaction((tx) => tx(each, { accountId, end }), forceIndexOrder)))
  // A contact has a row of the same id in each of its lists, and a delivery may end between the two searches.
  const id = onlyId(noun, end, [...new Set(found.flatMap(({ ids }) => ids ?? []))])
  if (id === undefined && found.some(({ searched }) => searched === searchedRows)) {
    const newest = `the newest ${number(searchedRows)} ${noun}`
    throw new Problem('not_found', `None of ${newest} has an id that ends with ${end}; an older one needs its whole id`)
  }
  return id
}

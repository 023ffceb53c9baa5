import { activeContacts, activeInAnyList, membersOfList } from '../contacts/contacts.rows.ts'
import { findList } from '../contacts/contacts.ts'
import { Problem } from '../lib/problem.ts'
import { countRecipients, type RecipientCounts } from '../messages/messages.ts'
import { compileFilter, compileSegment, findSegment, keepSegment, type Matcher } from '../segments/segments.ts'
import type { Row } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import type { broadcasts } from './broadcasts.columns.ts'
import type { Audience, Part } from './broadcasts.entities.ts'

/** Lists and segments by id or name. */
interface AudienceInput {
  list?: string[] | undefined
  /** Applies to each list. */
  where?: string | undefined
  segment?: string[] | undefined
  all?: boolean | undefined
  excludeList?: string[] | undefined
  excludeSegment?: string[] | undefined
}

/**
 * The columns that describe an audience. One list or segment has columns of its own; any other audience is stored as
 * JSON. Then `listId` is empty: earlier versions, which lack `audience`, find no such list and cancel the broadcast.
 */
export const audienceColumns = ['listId', 'segmentId', 'filter', 'filterNames', 'audience'] as const

type Stored = Row<typeof broadcasts, (typeof audienceColumns)[number]>
export type AudienceColumns = Pick<Stored, 'listId'> & { [Name in keyof Stored]?: Stored[Name] | undefined }

export const audienceOf = ({ listId, segmentId, filter, filterNames, audience }: AudienceColumns): Audience =>
  audience ?? {
    isAll: false,
    parts: [{ listId, segmentId: segmentId ?? null, where: filter ?? null, names: filterNames ?? null }],
    without: [],
  }

/** Whether the audience is one list, so that each address is in it once and a filter at most narrows it. */
export const isOneList = ({ isAll, parts, without }: Audience): boolean =>
  !isAll && parts.length === 1 && without.length === 0

export const columnsOf = (audience: Audience): Stored => {
  const none = { listId: '', segmentId: null, filter: null, filterNames: null }
  if (!isOneList(audience)) return { ...none, audience }
  const { listId, segmentId, where, names } = audience.parts[0]!
  return { listId, segmentId, filter: where, filterNames: names, audience: null }
}

/** Returns an input for which `findAudience` finds this audience. */
export const inputOf = ({ isAll, parts, without }: Audience): AudienceInput => {
  const lists = (of: Part[]) => of.flatMap((part) => (part.segmentId === null ? part.listId : []))
  const segments = (of: Part[]) => of.flatMap(({ segmentId }) => segmentId ?? [])
  return {
    list: lists(parts),
    segment: segments(parts),
    where: parts.find(({ segmentId }) => segmentId === null)?.where ?? undefined,
    all: isAll,
    excludeList: lists(without),
    excludeSegment: segments(without),
  }
}

const segmentPart = async (work: Work, ref: string): Promise<Part> => {
  const segment = await keepSegment(work, ref)
  const { names } = await compileSegment(work, segment)
  return { listId: segment.listId, segmentId: segment.id, where: segment.where, names }
}

const listPart = async (work: Work, ref: string, where?: string): Promise<Part> => {
  const { id: listId } = await findList(work, ref)
  const names = where === undefined ? null : (await compileFilter(work, where, listId)).names
  return { listId, segmentId: null, where: where ?? null, names }
}

const inOrder = async <Out>(refs: readonly string[], find: (ref: string) => Promise<Out>): Promise<Out[]> => {
  const found: Out[] = []
  for (const ref of refs) found.push(await find(ref))
  return found
}

/**
 * Finds the lists and segments of an input. Keeps segments from being deleted until the end of the transaction. Throws
 * Problem `usage` for flags that don't go together, `not_found` for a list or segment, `invalid` for a mistake in the
 * filter.
 */
export const findAudience = async (work: Work, input: AudienceInput): Promise<Audience> => {
  const { list = [], segment = [], where, all: isAll = false, excludeList = [], excludeSegment = [] } = input
  const isNamed = list.length + segment.length > 0
  if (isAll && isNamed) throw new Problem('usage', 'all can not be combined with a list or a segment')
  if (!isAll && !isNamed) throw new Problem('usage', 'A list, a segment or all is missing')
  if (where !== undefined && list.length === 0)
    throw new Problem('usage', 'where needs a list: a segment has its own filter')
  return {
    isAll,
    parts: [
      ...(await inOrder(list, (ref) => listPart(work, ref, where))),
      ...(await inOrder(segment, (ref) => segmentPart(work, ref))),
    ],
    without: [
      ...(await inOrder(excludeList, (ref) => listPart(work, ref))),
      ...(await inOrder(excludeSegment, (ref) => segmentPart(work, ref))),
    ],
  }
}

type Bind = (value: unknown) => string

/** The list of a recipient of `isAll`: any list in which the address is active. */
export const anyList = ''

const matcherOf = async (work: Work, { listId, segmentId, where, names }: Part): Promise<Matcher | null> => {
  if (segmentId !== null) return compileSegment(work, await findSegment(work, segmentId))
  return where === null ? null : compileFilter(work, where, listId, names)
}

const queryOfPart = async (
  work: Work,
  part: Part,
  place: number,
  from: (account: string, list: string) => string,
  bind: Bind,
): Promise<string> => {
  const { listId } = part
  const [account, list] = [bind(work.accountId), bind(listId)]
  const matcher = await matcherOf(work, part)
  if (!matcher) await findList(work, listId)
  const { joins, condition } = matcher?.sets(bind) ?? { joins: '', condition: 'true' }
  return `select c.row_id, c.email, c.list_id, ${place} as place from ${from(account, list)} ${joins} where ${condition}`
}

const queriesOf = async (work: Work, parts: Part[], from: (account: string, list: string) => string, bind: Bind) => {
  const queries: string[] = []
  for (const [place, part] of parts.entries()) queries.push(await queryOfPart(work, part, place, from, bind))
  return queries.join(' union all ')
}

/**
 * Returns a query of the current recipients: `row_id`, `email` and `list_ids`, the lists that make the address a
 * recipient, in the order in which they were named. Throws Problem `not_found` if a list was deleted, `invalid` if
 * something that a filter names was deleted.
 */
export const queryOfAudience = async (work: Work, audience: Audience, bind: Bind): Promise<string> => {
  const { isAll, parts, without } = audience
  const members = isAll
    ? `select row_id, email, '${anyList}' as list_id, 0 as place from ${activeInAnyList(bind(work.accountId))}`
    : await queriesOf(work, parts, activeContacts, bind)
  if (isOneList(audience)) return `select row_id, email, array[list_id] as list_ids from (${members}) m`
  const excluded = without.length === 0 ? '' : await queriesOf(work, without, membersOfList, bind)
  return `select row_id, email, array_agg(list_id order by place) as list_ids from (${members}) m
    ${excluded && `where not exists (select from (${excluded}) x where x.row_id = m.row_id)`} group by row_id, email`
}

/** Counts the current recipients of an audience, and those of them who get no marketing email (of a topic). */
export const countAudience = async (
  work: Work,
  audience: Audience,
  topicId: string | null,
): Promise<RecipientCounts> => {
  const params: unknown[] = []
  const query = await queryOfAudience(work, audience, (value) => `$${params.push(value)}`)
  return countRecipients(work, query, params, topicId)
}

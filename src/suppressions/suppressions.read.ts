import { verificationReasons } from '../contacts/contacts.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { shown } from '../lib/problem.ts'
import { shellWord } from '../lib/shell.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import type { SuppressionReason } from './suppressions.add.ts'
import { suppressions } from './suppressions.columns.ts'
import { findTopic } from './topics.find.ts'

const findReason = preparedStatement(
  'is-suppressed',
  { parameters: { accountId: 'text', email: 'text', reason: 'text' } },
  `select from suppressions where account_id = :accountId and email = :email and reason = :reason and topic_id = ''`,
)

/** Returns whether a normalised address is suppressed for a reason; for `unsubscribed`: whether it left everything. */
export const isSuppressed = async (
  { sql, accountId }: AccountSql,
  email: string,
  reason: SuppressionReason,
): Promise<boolean> => (await sql(findReason, { accountId, email, reason })).length > 0

/** The SQL join of the topic `t` of the row `s` of suppressions, if the row has one that was not deleted. */
export const joinTopic =
  'left join topics t on t.account_id = s.account_id and t.id = s.topic_id and t.deleted_at is null'

/** SQL condition on `joinTopic`: the row has no topic, or one that was not deleted. */
export const hasTopic = `(s.topic_id = '' or t.id is not null)`

const shownColumns = columns(suppressions, ['email', 'reason', 'createdAt'], 's')
const viewTypes = { ...shownColumns.types, topicId: 'text?', topic: 'text?' } as const

/** A suppression, with the topic that the address left. The topic is null if it is for all topics. */
export type SuppressionView = InEpochMs<RowOf<typeof viewTypes>>

const afterKey = { accountId: 'text', afterEmail: 'text', afterReason: 'text', afterTopicId: 'text' } as const
const isAfterKey = '(s.email, s.reason, s.topic_id) > (:afterEmail, :afterReason, :afterTopicId)'

const readEnd = statement(
  'end-of-suppressions',
  {
    row: types(suppressions, 'email', 'reason', 'topicId'),
    parameters: { ...afterKey, skipped: 'int8' },
  },
  `select email, reason, topic_id as "topicId" from suppressions s where s.account_id = :accountId and ${isAfterKey}
   order by s.email, s.reason, s.topic_id offset :skipped limit 1`,
)

const readPage = statement(
  'list-suppressions',
  {
    row: viewTypes,
    parameters: {
      ...afterKey,
      endEmail: 'text?',
      endReason: 'text?',
      endTopicId: 'text?',
      reason: 'text?',
      email: 'text?',
      topicId: 'text?',
      limit: 'int8',
    },
  },
  `select ${shownColumns.list}, t.id as "topicId", t.name as topic
   from suppressions s ${joinTopic}
   where s.account_id = :accountId and ${isAfterKey}
     and (:endEmail::text is null or (s.email, s.reason, s.topic_id) <= (:endEmail, :endReason, :endTopicId))
     and (:reason::text is null or s.reason = :reason) and (:email::text is null or s.email = :email)
     and (:topicId::text is null or s.topic_id = :topicId) and ${hasTopic}
   order by s.email, s.reason, s.topic_id limit :limit`,
)

/** Returns a page of the account's suppressions, ordered by address. */
export const listSuppressions = async (
  { sql, accountId }: Work,
  {
    reason,
    email,
    topicId = null,
  }: { reason: SuppressionReason | null; email: string | null; topicId?: string | null },
  { limit, cursor, reads }: PageRequest,
): Promise<Page<SuppressionView>> => {
  const [afterEmail = '', afterReason = '', afterTopicId = ''] = cursor === undefined ? [] : decodeCursor(cursor, 3)
  const after = { accountId, afterEmail, afterReason, afterTopicId }
  const [end] = reason !== null && email === null && reads ? await sql(readEnd, { ...after, skipped: reads - 1 }) : []
  const until = { endEmail: end?.email ?? null, endReason: end?.reason ?? null, endTopicId: end?.topicId ?? null }
  const found = await sql(readPage, { ...after, ...until, reason, email, topicId, limit: limit + 1 })
  const rows = found.slice(0, limit).map(inEpochMs)
  const last = found.length > limit ? rows.at(-1) : end
  return { rows, nextCursor: last ? encodeCursor([last.email, last.reason, last.topicId ?? '']) : null }
}

interface Unsent {
  why: string
  next: string
}

/** Returns a sentence why an email to an address was suppressed, and the command that shows or removes the reason. */
export const explainUnsent = async (
  work: Work,
  { email, reason, topicId }: { email: string; reason: string; topicId: string | undefined },
): Promise<Unsent> => {
  if (reason === 'pending')
    return {
      why: 'the contact is not active in any list, and only active contacts get marketing',
      next: `svc contacts show ${shellWord(email)}`,
    }
  const remove = `svc suppressions remove ${shellWord(email)}`
  if (topicId !== undefined && reason === 'unsubscribed' && !(await isSuppressed(work, email, reason))) {
    const { name } = await findTopic(work, topicId)
    return { why: `the address has left the topic ${shown(name)}`, next: `${remove} --topic ${topicId}` }
  }
  if (reason !== 'invalid') return { why: `the address is suppressed (${reason})`, next: remove }
  const reasons = await verificationReasons(work, email)
  return {
    why: `the address failed verification (${reasons.join(', ')})`,
    next: `svc contacts verify ${shellWord(email)}`,
  }
}

import { activeAccounts, postalAddressOf } from '../../accounts/accounts.rows.ts'
import { claimsJson, ownedRows } from '../../queue/claims.ts'
import { addressesOf, keyOfDomain } from '../../senders/senders.rows.ts'
import { typed } from '../../store/column-types.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import { projectNameOf } from '../../studio/studio.ts'
import { isTopic, suppressedReason } from '../../suppressions/suppressions.rows.ts'
import { messages } from '../messages.columns.ts'
import { isLeftOut, isPaused } from '../messages.queue.ts'
import { type ClaimedMessage, type Content, queueTable } from './outbox.claim.ts'

/** The content of a message. `reason` says why its recipient is suppressed now; it is null if the message may be sent. */
export type Loaded = Content & {
  reason: string | null
  /** The addresses that the account's senders have now, for a scheduled message. */
  senders: string[] | null
  /** Whether it is a scheduled message whose project was deleted. */
  isWithoutProject: boolean
  /** Whether its topic was deleted. */
  isWithoutTopic: boolean
  /** Whether its expiry has passed, so that it must not be sent. */
  isExpired: boolean
}

const content = columns(
  messages,
  [
    'accountId',
    'id',
    'type',
    'email',
    'fromEmail',
    'fromName',
    'replyTo',
    'subject',
    'html',
    'text',
    'calendar',
    'projectId',
    'projectVersion',
    'mergeData',
    'headers',
    'createdAt',
  ],
  'm',
)

const loadMessages = preparedStatement(
  'load-messages',
  {
    row: {
      ...content.types,
      // A message without a sender failed when it was inserted.
      fromEmail: 'text',
      fromName: 'text',
      addressees: typed<Content['addressees']>('json'),
      attachmentsOf: 'text?',
      dueAt: 'timestamptz',
      domain: 'text',
      postalAddress: 'text?',
      senders: '_text?',
      isWithoutProject: 'bool',
      isWithoutTopic: 'bool',
      isExpired: 'bool',
      reason: 'text?',
      sealedKey: 'text?',
    },
    parameters: { claims: 'jsonb', now: 'timestamptz' },
  },
  `
  select m.*, d.sealed_key as "sealedKey", coalesce(q.expires_at <= :now, false) as "isExpired"
  from jsonb_to_recordset(:claims::jsonb) as c("accountId" text, id text, claim int, worker int) cross join lateral (
    select expires_at from message_queue
    where account_id = c."accountId" and id = c.id and claim = c.claim and worker = c.worker limit 1
  ) q cross join lateral (
    select ${content.list}, case when m.copy is not null then json_build_object(
        'to', (select t.email from messages t where t.account_id = m.account_id and t.id = coalesce(m.copy_of, m.id)),
        'cc', (select coalesce(json_agg(c.email order by c.id), '[]') from messages c
               where c.account_id = m.account_id and c.copy_of = coalesce(m.copy_of, m.id) and c.copy = 'cc'
                 and c.email <> '' and not ${isLeftOut('c')})
      ) end as addressees, case when m.attachments > 0 then coalesce(m.copy_of, m.id) end as "attachmentsOf",
      coalesce(m.scheduled_at, m.created_at) as "dueAt", split_part(m.from_email, '@', -1) as domain,
      case when m.type = 'marketing' and m.project_id is not null then ${postalAddressOf('m.account_id')} end as "postalAddress",
      case when m.scheduled_at is not null then ${addressesOf('m.account_id')} end as senders,
      m.scheduled_at is not null and m.project_id is not null
        and ${projectNameOf('m.account_id', 'm.project_id')} is null as "isWithoutProject",
      m.topic_id is not null and not ${isTopic('m.account_id', 'm.topic_id')} as "isWithoutTopic",
      coalesce(${suppressedReason('m.account_id', 'm.email', 'm.type', 'm.topic_id')}, case when m.scheduled_at is not null and m.copy_of is not null then (
        select ${suppressedReason('t.account_id', 't.email', 't.type', 't.topic_id')} from messages t
        where t.account_id = m.account_id and t.id = m.copy_of
      ) end) as reason
    from messages m where m.account_id = c."accountId" and m.id = c.id
      and exists (select from ${activeAccounts} a where a.id = c."accountId") limit 1
  ) m left join lateral (
    ${keyOfDomain('m."accountId"', 'm.domain')}
  ) d on true`,
)

/**
 * Loads the contents of claims. Returns them by message id, without claims that this process has lost, and without messages of
 * accounts that are being deleted. Whether a message has expired is decided at `now`.
 */
export const loadContents = async (
  sql: Sql,
  claims: readonly ClaimedMessage[],
  now: Date,
): Promise<Map<string, Loaded>> => {
  const rows = await sql(loadMessages, { claims: claimsJson(claims), now })
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Returns CTEs that mark the claims of the parameter `claims` as being sent; the CTE `sendable` has their ids. After the commit no
 * other worker sends them. The other claims must not be sent: this process has lost them, their rows are locked, they were
 * suppressed after they were loaded, their batch is paused, or their account is being deleted.
 */
export const marking = (claims: string): string => `
  taken as materialized (
    select l.row, c."accountId" as account, c.id from ${ownedRows(queueTable, '', claims)}
  ), sendable as materialized (
    select taken.row, taken.id from taken cross join lateral (
      select ${suppressedReason('m.account_id', 'm.email', 'm.type', 'm.topic_id')} as reason
      from messages m where m.account_id = taken.account and m.id = taken.id
        and exists (select from ${activeAccounts} a where a.id = taken.account) limit 1
    ) m where m.reason is null
      and not ${isPaused('taken.account', '(select batch from message_queue where ctid = taken.row)')}
  ), marked as (
    update message_queue q set is_handing = true from sendable s where q.ctid = s.row
  )`

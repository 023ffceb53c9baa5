import type { Sql } from '../store/database.ts'
import { type ClaimedMessage, ownedJson, ownedRows } from './mail.claim.ts'
import { suppressedReason } from './suppressed.ts'

/** What a message is composed of. */
export interface Content {
  accountId: string
  id: string
  type: 'transactional' | 'marketing'
  email: string
  fromEmail: string
  fromName: string
  replyTo: string | null
  subject: string
  html: string | null
  text: string | null
  calendar: string | null
  projectId: string | null
  projectVersion: number | null
  mergeData: Record<string, string> | null
  createdAt: Date
  /** The key of its domain, sealed; null where the domain is not a verified one. */
  sealedKey: string | null
  domain: string
  /** Why its recipient is suppressed by now; null: it may be sent. */
  reason: string | null
}

const loading = `
  select m.*, d.sealed_key as "sealedKey"
  from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text, claim int, worker int, bare boolean) cross join lateral (
    select from message_queue
    where account_id = c."accountId" and id = c.id and claim = c.claim and worker = c.worker limit 1
  ) q cross join lateral (
    select m.account_id as "accountId", m.id, m.type, m.email, m.from_email as "fromEmail", m.from_name as "fromName",
      m.reply_to as "replyTo", m.subject, case when not c.bare then m.html end as html,
      case when not c.bare then m.text end as text, case when not c.bare then m.calendar end as calendar,
      m.project_id as "projectId", m.project_version as "projectVersion", m.merge_data as "mergeData",
      m.created_at as "createdAt", split_part(m.from_email, '@', 2) as domain,
      ${suppressedReason('m.account_id', 'm.email', 'm.type')} as reason
    from messages m where m.account_id = c."accountId" and m.id = c.id
      and exists (select from accounts a where a.id = c."accountId" and a.deleted_at is null) limit 1
  ) m left join lateral (
    select sealed_key from domains where account_id = m."accountId" and domain = m.domain and status = 'verified' limit 1
  ) d on true`

/**
 * Loads the contents of claims by their ids, for a connection to take. Leaves out claims that are not ours any more, and
 * messages of accounts that are being deleted.
 */
export const loadContents = async (sql: Sql, claims: readonly ClaimedMessage[]): Promise<Map<string, Content>> => {
  const rows = await sql<Content>(loading, [ownedJson(claims)], 'load-messages')
  const bodies = new Map(claims.map(({ id, body }) => [id, body]))
  return new Map(rows.map((row) => [row.id, { ...row, ...bodies.get(row.id) }]))
}

const marking = `
  with mine as materialized (
    select l.row, c."accountId" as account, c.id from ${ownedRows()}
  ), sendable as materialized (
    select mine.row, mine.id from mine cross join lateral (
      select ${suppressedReason('m.account_id', 'm.email', 'm.type')} as reason
      from messages m where m.account_id = mine.account and m.id = mine.id
        and exists (select from accounts a where a.id = mine.account and a.deleted_at is null) limit 1
    ) m where m.reason is null
  ), marked as (
    update message_queue q set is_handing = true from sendable s where q.ctid = s.row
  )
  select id from sendable`

/**
 * Marks claims as being handed over, and returns the ids of those that may be sent: after the commit nobody else hands them
 * over. The others must not be sent: they are not ours any more, locked, suppressed since they were loaded, or of an account
 * that is being deleted.
 */
export const markHanding = async (sql: Sql, claims: readonly ClaimedMessage[]): Promise<Set<string>> => {
  const rows = await sql<{ id: string }>(marking, [ownedJson(claims)], 'mark-messages')
  return new Set(rows.map(({ id }) => id))
}

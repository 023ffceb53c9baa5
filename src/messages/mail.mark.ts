import { claimsJson, ownedRows } from '../queue/claims.ts'
import type { Sql } from '../store/database.ts'
import { type ClaimedMessage, type Content, queueTable } from './mail.claim.ts'
import { suppressedReason } from './suppressed.ts'

/** `reason`: why its recipient is suppressed by now; null: it may be sent. */
export type Loaded = Content & { reason: string | null }

const loading = `
  select m.*, d.sealed_key as "sealedKey"
  from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text, claim int, worker int) cross join lateral (
    select from message_queue
    where account_id = c."accountId" and id = c.id and claim = c.claim and worker = c.worker limit 1
  ) q cross join lateral (
    select m.account_id as "accountId", m.id, m.type, m.email, m.from_email as "fromEmail", m.from_name as "fromName",
      m.reply_to as "replyTo", m.subject, m.html, m.text, m.calendar, m.project_id as "projectId", m.project_version as "projectVersion", m.merge_data as "mergeData",
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
export const loadContents = async (sql: Sql, claims: readonly ClaimedMessage[]): Promise<Map<string, Loaded>> => {
  const rows = await sql<Loaded>(loading, [claimsJson(claims)], 'load-messages')
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * CTEs that mark the claims of the parameter `claims` as being handed over; `sendable` has the `id` of each. After the commit
 * nobody else hands them over. The others must not be sent: they are not ours any more, locked, suppressed since they were
 * loaded, or of an account that is being deleted.
 */
export const marking = (claims: string): string => `
  taken as materialized (
    select l.row, c."accountId" as account, c.id from ${ownedRows(queueTable, '', claims)}
  ), sendable as materialized (
    select taken.row, taken.id from taken cross join lateral (
      select ${suppressedReason('m.account_id', 'm.email', 'm.type')} as reason
      from messages m where m.account_id = taken.account and m.id = taken.id
        and exists (select from accounts a where a.id = taken.account and a.deleted_at is null) limit 1
    ) m where m.reason is null
  ), marked as (
    update message_queue q set is_handing = true from sendable s where q.ctid = s.row
  )`

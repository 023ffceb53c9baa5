import type { Sql } from '../store/database.ts'
import { type ClaimedMessage, ownedJson, ownedRows } from './mail.claim.ts'
import { suppressedReason } from './suppressed.ts'

/** All that a mail is made of. */
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
  /** Since it was queued its recipient has come to be suppressed: it was not marked. */
  reason: string | null
}

const marking = `
  with mine as materialized (
    select l.row, c."accountId" as account, c.id, c.bare from ${ownedRows(', bare boolean')}
  ), content as materialized (
    select mine.row, m.* from mine cross join lateral (
      select m.account_id as "accountId", m.id, m.type, m.email, m.from_email as "fromEmail", m.from_name as "fromName",
        m.reply_to as "replyTo", m.subject, case when not mine.bare then m.html end as html,
        case when not mine.bare then m.text end as text, case when not mine.bare then m.calendar end as calendar, m.project_id as "projectId",
        m.project_version as "projectVersion", m.merge_data as "mergeData", m.created_at as "createdAt",
        split_part(m.from_email, '@', 2) as domain, ${suppressedReason('m.account_id', 'm.email', 'm.type')} as reason
      from messages m where m.account_id = mine.account and m.id = mine.id
        and exists (select from accounts a where a.id = mine.account and a.deleted_at is null) limit 1
    ) m
  ), marked as (
    update message_queue q set is_handing = true from content c where q.ctid = c.row and c.reason is null
  )
  select c.*, d.sealed_key as "sealedKey" from content c left join lateral (
    select sealed_key from domains where account_id = c."accountId" and domain = c.domain and status = 'verified' limit 1
  ) d on true`

/**
 * Marks claims as being handed over, and gives their contents: from its commit on none of them is handed over by anybody
 * else. What is not ours any more is left out, and so are what somebody has locked and the mail of an account that is being
 * deleted: its rows go soon.
 */
export const markHanding = async (sql: Sql, claims: readonly ClaimedMessage[]): Promise<Map<string, Content>> => {
  const rows = await sql<Content>(marking, [ownedJson(claims)], 'mark-messages')
  const bodies = new Map(claims.map(({ id, body }) => [id, body]))
  return new Map(rows.map((row) => [row.id, { ...row, ...bodies.get(row.id) }]))
}

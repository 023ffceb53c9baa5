import { type Claim, claimsJson, ownedRows } from '../queue/claims.ts'
import type { QueueView } from '../queue/loop.ts'
import type { Sql } from '../store/database.ts'
import type { App } from '../store/work.ts'

/*
 * A message belongs to the worker that claimed it, for as long as that worker lives (queue/README.md). It is marked
 * (`is_handing`, mail.mark.ts) when a connection takes it and before any of its content is sent. If its worker dies, an unmarked
 * message is claimed again, and a marked one ends as failed, because the relay may have it. So each message is sent at most
 * once, and a crash leaves at most one message in doubt per open connection.
 */

/** The jobs that hand mail over listen on this channel: `<microseconds> <account> <batch>`, or anything else: look everywhere. */
export const mailChannel = 'svc_mail'

export const noticeOf = (accountId: string, batch: string, dueAt: number): string => `${dueAt} ${accountId} ${batch}`

/** Mails that are due: none that a broadcast holds back, or that waits for its next attempt. */
export const sendsQueue: QueueView = {
  name: 'sends',
  due: 'select q.due_at from clock, message_queue q where q.due_at <= clock.now',
}

/** A relay as it is stored; its password is sealed with the account's id as context. */
export interface StoredRelay {
  host: string
  port: number
  isSecure: boolean
  username: string | null
  sealedPassword: string | null
  bounceAddress: string | null
}

export const queueTable = 'message_queue'

/** A message that this process has claimed. */
export interface ClaimedMessage extends Claim {
  /** '': none. */
  batch: string
  tries: number
  isPatient: boolean
  /** null: the platform's. */
  relay: StoredRelay | null
  /** What it is composed of, where the process has just written it; else it is loaded. */
  content?: Content
  /** When it is given back: it is due again after this many ms. */
  retryMs?: number
}

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
}

/** What waits together, in the order of its due times: a batch of an account, or all of the account's that is of none (''). */
export interface Stream {
  accountId: string
  batch: string
}

export const streamKey = ({ accountId, batch }: Stream): string => `${accountId} ${batch}`

/** A stream in which there may be something unclaimed since a time (microseconds), and how much may be claimed. */
export interface Ask extends Stream {
  room: number
  since: number
}

/** What was there in a stream: `found` rows up to `last` (microseconds), claimed or not. */
export interface Found extends Stream {
  found: number
  last: number
}

export const relayColumns = `r.host, r.port, r.is_secure as "isSecure", r.username,
  r.sealed_password as "sealedPassword", r.bounce_address as "bounceAddress"`

// Rows are named by ctid and reached by laterals, as in deliveries: no plan but the direct one is left to choose.
const claiming = `
  with clock as materialized (
    select svc_now() as now
  ), ask as materialized (
    select * from jsonb_to_recordset($2::jsonb) as a("accountId" text, batch text, room int, since float8)
    where exists (select from accounts where id = a."accountId" and deleted_at is null)
  ), due as materialized (
    select a."accountId" as account, a.batch, d.*,
      row_number() over (partition by a."accountId", a.batch order by d.due_at) as turn
    from ask a, clock cross join lateral (
      select ctid as row, due_at from message_queue
      where account_id = a."accountId" and batch = a.batch and due_at >= to_timestamp(a.since / 1e6 - 1e-6)
        and due_at <= clock.now and worker is null
      order by due_at limit a.room
    ) d
  ), locked as materialized (
    select ctid as row from message_queue
    where ctid = any(array(select row from due order by turn, due_at limit $3)) and worker is null for update skip locked
  ), taken as (
    update message_queue set worker = $1, claim = claim + 1 where ctid = any(array(select row from locked))
    returning account_id, id, batch, claim, tries, is_patient, due_at
  )
  select f.account as "accountId", f.batch, f.found, (extract(epoch from f.last) * 1e6)::int8 as last, t.id, t.claim, t.tries,
    t.is_patient as "isPatient", r.relay
  from (select account, batch, count(*) as found, max(due_at) as last from due group by account, batch) f
    left join taken t on t.account_id = f.account and t.batch = f.batch
    left join lateral (
      select row_to_json(r) as relay from (select ${relayColumns} from relays r where r.account_id = f.account limit 1) r
    ) r on true
  order by t.due_at`

/**
 * Claims what is due in the streams asked for, the oldest of each first and the streams in turn, at most `total`. Skips
 * accounts that are being deleted: their rows go soon.
 */
export const claimDue = async (
  sql: Sql,
  worker: number,
  asks: readonly Ask[],
  total: number,
): Promise<{ claims: ClaimedMessage[]; found: Map<string, Found> }> => {
  const rows = await sql<Found & Omit<ClaimedMessage, 'id'> & { id: string | null }>(
    claiming,
    [worker, JSON.stringify(asks), total],
    'claim-messages',
  )
  return {
    claims: rows.flatMap(({ found: _, last: __, id, ...row }) => (id === null ? [] : { ...row, id, worker })),
    found: new Map(rows.map((row) => [streamKey(row), row])),
  }
}

/** Frees the rows of claims (`$1`), due again after `$2` ms, and announces them. */
const releasing = `
  with freed as (
    update message_queue q set worker = null, is_handing = false, claim = q.claim + 1,
      due_at = case when $2::float8 > 0 then svc_now() + $2 * interval '1 ms' else q.due_at end
    from (select l.row from ${ownedRows(queueTable)}) l where q.ctid = l.row returning q.id, q.account_id, q.batch, q.due_at
  ), announced as (
    select pg_notify('${mailChannel}', (extract(epoch from due_at) * 1e6)::int8 || ' ' || account_id || ' ' || batch)
    from (select account_id, batch, min(due_at) as due_at from freed group by account_id, batch) f
  )
  select id from freed where (select count(*) from announced) >= 0`

/**
 * Returns claims to the queue of which nothing was sent, each due again after its `retryMs`. Resolves with the ids that
 * changed; rows that another transaction has locked, and those of newer claims, do not.
 */
export const releaseClaims = async (sql: Sql, claims: readonly ClaimedMessage[]): Promise<Set<string>> => {
  const released = new Set<string>()
  for (const [retryMs, same] of Map.groupBy(claims, (claim) => claim.retryMs ?? 0)) {
    const rows = await sql<{ id: string }>(releasing, [claimsJson(same), retryMs], 'release-messages')
    for (const { id } of rows) released.add(id)
  }
  return released
}

/** Tallies the ends of messages that belong to a batch; `ended` is SQL that gives the account, batch and status of each. */
export const tallying = (ended: string) => `
  insert into message_tallies (account_id, batch, status, count)
  select account_id, batch, status, count(*) from (${ended}) e where batch <> '' group by account_id, batch, status`

/** What a message ends with whose worker died when the relay may have had it. */
export const unknownState = 'delivery state unknown'

const freeing = `
  with locked as materialized (
    select l.row from ${ownedRows(queueTable)}
  ), gone as (
    delete from message_queue where ctid = any(array(select row from locked)) and is_handing returning account_id, id, batch
  ), tallied as (
    ${tallying(`select account_id, batch, 'failed' as status from gone`)}
  ), freed as (
    update message_queue set worker = null, claim = claim + 1
    where ctid = any(array(select row from locked)) and not is_handing
  ), ended as (
    update messages m set status = 'failed', error = '${unknownState}', finished_at = svc_now()
    from gone where m.account_id = gone.account_id and m.id = gone.id
  )
  select (select count(*) from gone) as failed, pg_notify('${mailChannel}', '')`

/**
 * Ends those of the claims that are marked, and frees the others, for any worker to claim. Rows that another transaction has
 * locked, and those of newer claims, stay as they are.
 */
export const freeClaims = async (
  { sql, tallies }: Pick<App, 'sql' | 'tallies'>,
  claims: readonly Claim[],
): Promise<void> => {
  const [row] = await sql<{ failed: number }>(freeing, [claimsJson(claims)])
  tallies.count('sends', 'failed', row!.failed)
}

/**
 * The streams that have something due and unclaimed, and since when (microseconds), without those of accounts that are being
 * deleted. Reads one index entry for each.
 */
export const findDue = (sql: Sql): Promise<(Stream & { since: number })[]> =>
  sql(
    `with recursive waiting as (
       (select account_id, batch from message_queue order by account_id, batch limit 1)
       union all
       select n.account_id, n.batch from waiting w cross join lateral (
         select q.account_id, q.batch from message_queue q where (q.account_id, q.batch) > (w.account_id, w.batch)
         order by q.account_id, q.batch limit 1
       ) n
     )
     select w.account_id as "accountId", w.batch, (extract(epoch from d.due_at) * 1e6)::int8 as since
     from waiting w, (select svc_now() as now) clock cross join lateral (
       select due_at from message_queue
       where account_id = w.account_id and batch = w.batch and due_at <= clock.now and worker is null order by due_at limit 1
     ) d where exists (select from accounts a where a.id = w.account_id and a.deleted_at is null)`,
    [],
    'find-due-messages',
  )

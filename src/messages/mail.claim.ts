import type { Sql } from '../store/database.ts'
import type { QueueView } from '../store/queue.ts'
import type { App } from '../store/work.ts'

/*
 * The rule of the queue: a message belongs to the worker that claimed it, for as long as that worker lives (store/worker.ts);
 * `claim` counts the owners, and only the newest may hand over and record. A message is marked (`is_handing`, mail.mark.ts)
 * when a connection takes it and before any of its content is sent. If its worker dies, an unmarked message is claimed
 * again, and a marked one ends as failed, because the relay may have it. So each message is sent at most once, and a crash
 * leaves at most one message in doubt per open connection.
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

/** A message that is ours. */
export interface ClaimedMessage {
  accountId: string
  id: string
  /** '': none. */
  batch: string
  worker: number
  /** Which claim this is. */
  claim: number
  tries: number
  isPatient: boolean
  /** null: the platform's. */
  relay: StoredRelay | null
  /** What it is composed of, where the process has just written it; else it is loaded. */
  content?: Content
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

type Owned = Pick<ClaimedMessage, 'accountId' | 'id' | 'claim' | 'worker'>

export const ownedJson = (claims: readonly Owned[]): string =>
  JSON.stringify(claims.map(({ accountId, id, claim, worker }) => ({ accountId, id, claim, worker })))

/** The rows of claims (a JSON parameter) that are still ours, as `row`, beside the columns of the claims as `c`; skips locked ones. */
export const ownedRows = (more = '', claims = '$1') => `
  jsonb_to_recordset(${claims}::jsonb) as c("accountId" text, id text, claim int, worker int${more}) cross join lateral (
    select ctid as row from message_queue
    where account_id = c."accountId" and id = c.id and claim = c.claim and worker = c.worker for update skip locked
  ) l`

/** Which of the claims are still ours, locked or not. */
export const stillOurs = async (sql: Sql, claims: readonly Owned[]): Promise<Set<string>> => {
  const rows = await sql<{ id: string }>(
    `select c.id from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text, claim int, worker int)
     cross join lateral (
       select from message_queue
       where account_id = c."accountId" and id = c.id and claim = c.claim and worker = c.worker limit 1
     ) q`,
    [ownedJson(claims)],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Gives claims back of which nothing has left, due again after `waitMs`. What is locked stays claimed: ask again. */
export const releaseClaims = async (sql: Sql, claims: readonly Owned[], waitMs: number): Promise<void> => {
  if (claims.length === 0) return
  await sql(
    `with freed as (
       update message_queue q set worker = null, is_handing = false, claim = q.claim + 1,
         due_at = case when $2::float8 > 0 then svc_now() + $2 * interval '1 ms' else q.due_at end
       from (select l.row from ${ownedRows()}) l where q.ctid = l.row returning q.account_id, q.batch, q.due_at
     )
     select pg_notify('${mailChannel}', (extract(epoch from due_at) * 1e6)::int8 || ' ' || account_id || ' ' || batch)
     from (select account_id, batch, min(due_at) as due_at from freed group by account_id, batch) f`,
    [ownedJson(claims), waitMs],
  )
}

/** Tallies the ends of messages that belong to a batch; `ended` is SQL that gives the account, batch and status of each. */
export const tallying = (ended: string) => `
  insert into message_tallies (account_id, batch, status, count)
  select account_id, batch, status, count(*) from (${ended}) e where batch <> '' group by account_id, batch, status`

/** What a message ends with whose worker died when the relay may have had it. */
export const unknownState = 'delivery state unknown'

// `claimed` selects `row` of rows that belong to the workers $1.
const freeing = (claimed: string) => `
  with claimed as materialized (
    ${claimed}
  ), locked as materialized (
    select ctid as row from message_queue
    where ctid = any(array(select row from claimed)) and worker = any($1) for update skip locked
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
  select (select count(*) from claimed) as found, (select count(*) from locked) as taken,
    (select count(*) from gone) as failed`

const freeingAll = freeing('select ctid as row from message_queue where worker = any($1)')

const freeingSome = freeing(`
  select q.row from jsonb_to_recordset($2::jsonb) as c("accountId" text, id text, claim int) cross join lateral (
    select ctid as row from message_queue
    where account_id = c."accountId" and id = c.id and claim = c.claim and worker = any($1) limit 1
  ) q`)

/**
 * Ends the marked messages of workers that are gone, and frees their unmarked ones. Skips locked rows: returns whether there
 * were none.
 */
export const freeClaimsOf = async (
  { sql, tallies }: Pick<App, 'sql' | 'tallies'>,
  workers: readonly number[],
): Promise<boolean> => {
  const [row] = await sql<{ found: number; taken: number; failed: number }>(freeingAll, [workers])
  tallies.count('sends', 'failed', row!.failed)
  return row!.found === row!.taken
}

/** A row that the database has as ours. */
export type OwnRow = Pick<ClaimedMessage, 'accountId' | 'id' | 'claim'>

/** Rows of a worker beside those with `ids`, at most 1,000. Reads the whole queue. */
export const findClaimsOf = (sql: Sql, worker: number, ids: readonly string[]): Promise<OwnRow[]> =>
  sql(
    `select account_id as "accountId", id, claim from message_queue where worker = $1 and id <> all($2::text[]) limit 1000`,
    [worker, ids],
  )

/** As `freeClaimsOf`, for these claims of one worker. Wakes the jobs. */
export const freeClaims = async (
  { sql, tallies }: Pick<App, 'sql' | 'tallies'>,
  worker: number,
  claims: readonly OwnRow[],
): Promise<void> => {
  const [row] = await sql<{ failed: number }>(freeingSome, [[worker], JSON.stringify(claims)])
  tallies.count('sends', 'failed', row!.failed)
  await sql(`select pg_notify('${mailChannel}', '')`)
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

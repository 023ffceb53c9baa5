import { nextRetryMs } from '../lib/backoff.ts'
import type { HandOver } from '../net/smtp.ts'
import type { Sql } from '../store/database.ts'
import { type ClaimedMessage, ownedRows, stillOurs, unknownState } from './mail.claim.ts'

/** What became of one claim. `queued`: the relay was away or put it off, and it is tried again after `waitMs`. */
export interface Result {
  claimed: ClaimedMessage
  status: 'sent' | 'failed' | 'suppressed' | 'queued'
  reason: string | null
  error: string | null
  waitMs: number
  /** The relay says that there is no such recipient. */
  isBounced: boolean
}

/** The enhanced status of an address that is none (RFC 3463), as a server says it first; 7 and 8 are about the sender. */
const noSuchRecipient = /^\d{3}[ -]5\.1\.(?![78]\b)\d/

const refusedSentence = (response: string) => `The relay refused the message: ${response}`

const putOff = (claimed: ClaimedMessage, error: string, random: number): Result => {
  const waitMs = claimed.isPatient ? nextRetryMs(claimed.tries + 1, random) : null
  const ending = { claimed, reason: null, error, isBounced: false }
  return waitMs === null ? { ...ending, status: 'failed', waitMs: 0 } : { ...ending, status: 'queued', waitMs }
}

/**
 * What a hand-over leads to (decisions.md, Send): sent; failed, where the relay refuses or nobody knows; where it puts the
 * mail off or can't be reached, failed for a caller who waits, and tried again for the rest. `random` in [0, 1).
 */
export const judge = (claimed: ClaimedMessage, outcome: HandOver, random: number): Result => {
  const ended = { claimed, reason: null, waitMs: 0, isBounced: false }
  if (outcome.kind === 'accepted') return { ...ended, status: 'sent', error: null }
  if (outcome.kind === 'unknown') return { ...ended, status: 'failed', error: unknownState }
  if (outcome.kind === 'unreached') return putOff(claimed, `The relay could not be reached: ${outcome.reason}`, random)
  const error = refusedSentence(outcome.response)
  if (outcome.code < 500) return putOff(claimed, error, random)
  return { ...ended, status: 'failed', error, isBounced: outcome.ofRecipient && noSuchRecipient.test(outcome.response) }
}

export const suppressedResult = (claimed: ClaimedMessage, reason: string): Result => ({
  claimed,
  status: 'suppressed',
  reason,
  error: null,
  waitMs: 0,
  isBounced: false,
})

export const failedResult = (claimed: ClaimedMessage, error: string): Result => ({
  claimed,
  status: 'failed',
  reason: null,
  error,
  waitMs: 0,
  isBounced: false,
})

// A row that somebody has locked, in the queue or among the messages, is left out: nobody's results wait for it.
const recording = `
  with clock as materialized (
    select svc_now() as now
  ), mine as materialized (
    select l.row, c.* from ${ownedRows(', tries int, status text, reason text, error text, "waitMs" float8')}
  ), result as materialized (
    select mine.*, m.message from mine cross join lateral (
      select ctid as message from messages where account_id = mine."accountId" and id = mine.id for no key update skip locked
    ) m
  ), again as (
    update message_queue q set worker = null, is_handing = false, tries = r.tries, claim = q.claim + 1,
      due_at = clock.now + r."waitMs" * interval '1 ms'
    from result r, clock where q.ctid = r.row and r.status = 'queued'
  ), gone as (
    delete from message_queue q using result r where q.ctid = r.row and r.status <> 'queued'
  ), ended as (
    update messages m set status = r.status, reason = r.reason, error = r.error, finished_at = clock.now
    from result r, clock where m.ctid = r.message and r.status <> 'queued'
  )
  select id from result`

const encode = (results: readonly Result[]): string =>
  JSON.stringify(
    results.map(({ claimed: { accountId, id, claim, worker, tries }, status, reason, error, waitMs }) => ({
      accountId,
      id,
      claim,
      worker,
      tries: tries + 1,
      status,
      reason,
      error,
      waitMs,
    })),
  )

/** Records results by one statement (two where a row is locked or another's), and gives those that are locked, for later. */
export const recordResults = async (
  sql: Sql,
  results: readonly Result[],
): Promise<{ written: Result[]; locked: Result[] }> => {
  const rows = await sql<{ id: string }>(recording, [encode(results)], 'record-messages')
  const done = new Set(rows.map(({ id }) => id))
  const written = results.filter(({ claimed }) => done.has(claimed.id))
  if (written.length === results.length) return { written, locked: [] }
  const open = results.filter(({ claimed }) => !done.has(claimed.id))
  const ours = await stillOurs(
    sql,
    open.map(({ claimed }) => claimed),
  )
  return { written, locked: open.filter(({ claimed }) => ours.has(claimed.id)) }
}

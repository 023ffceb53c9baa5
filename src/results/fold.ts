import { activeAccounts } from '../accounts/accounts.rows.ts'
import { lockKey } from '../lib/locks.ts'
import { Problem } from '../lib/problem.ts'
import { followLooks } from '../queue/looks.ts'
import { runSchedule } from '../queue/loop.ts'
import { defineJob, inBatches } from '../store/background.ts'
import { isUnavailable } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App, Report, Work } from '../store/work.ts'
import { batchSize, foldBatch } from './fold.statement.ts'

/** Readers add up the changes of at most this time themselves. */
const intervalMs = 10_000

// Reads one index entry for each account.
const findChanged = statement(
  'accounts-of-result-changes',
  { row: { accountId: 'text' } },
  `with recursive changed as (
     (select account_id from message_result_changes order by account_id limit 1)
     union all
     select n.account_id from changed c cross join lateral (
       select account_id from message_result_changes r where r.account_id > c.account_id order by r.account_id limit 1
     ) n
   ) select account_id as "accountId" from changed
   where exists (select from ${activeAccounts} a where a.id = account_id)`,
)

const lockToFold = statement(
  'lock-results-to-fold',
  { row: { isMine: 'bool' }, parameters: { accountId: 'text' } },
  `select pg_try_advisory_xact_lock(${lockKey('results', ':accountId')}) as "isMine"`,
)

/** Locks a person's results, to correct them. */
export const lockToCorrect = statement(
  'lock-results-to-correct',
  { row: { account: 'void', person: 'void' }, parameters: { accountId: 'text', email: 'text' } },
  `select pg_advisory_xact_lock_shared(${lockKey('results', ':accountId')}) as account,
     pg_advisory_xact_lock(${lockKey('resultsOfPerson', ':accountId || :email')}) as person`,
)

/**
 * Adds up the changes by one person. Until the end of the transaction, `foldResults` skips the account, and other corrections of the
 * person wait.
 */
export const foldPerson = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(lockToCorrect, { accountId, email })
  while ((await sql(foldBatch, { accountId, person: email }))[0]!.count === batchSize);
}

/**
 * Adds up the changes of all accounts, in batches. An account whose results are being corrected is skipped. An account that fails is
 * reported and does not delay the others. Rejects while the database is unavailable.
 */
export const foldResults = async (app: App, signal?: AbortSignal, report: Report = app.report): Promise<void> => {
  const accounts = await app.sql(findChanged)
  for (const { accountId } of accounts) {
    const fold = () =>
      app.work(accountId, 'job:results', async ({ sql }) => {
        const [lock] = await sql(lockToFold, { accountId })
        return lock!.isMine ? (await sql(foldBatch, { accountId, person: null }))[0]!.count : 0
      })
    await inBatches(batchSize, fold, signal).catch((error) => {
      // The account is being deleted, and its rows with it.
      if (error instanceof Problem && error.kind === 'not_found') return
      if (isUnavailable(error)) throw error
      report(error, { account: accountId })
    })
  }
}

/** Adds up the changes of all accounts every ten seconds. */
export const runResults = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runSchedule(app, null, signal, report, () => {
    // Changes wait for the next turn, so that one turn adds up many.
    const look = followLooks(app, 'results', () => {})
    return {
      async turn(isAsked) {
        if (isAsked || !look.isIdle) await foldResults(app, signal, report)
        return intervalMs
      },
      finish: look.close,
    }
  })

export const jobs = [
  defineJob('results', {
    every: '10 s',
    does: 'Adds up the changes of the results of email, to one row for each day and number',
    run: runResults,
  }),
]

import { afterEach, beforeEach } from 'vitest'
import { type TestAccount, type TestApp, useApp } from './app.ts'
import { eventually, tally } from './deliveries.ts'
import { standIn } from './fixture.ts'
import { startJob } from './jobs.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { endStarted } from './scope.ts'

interface Worker {
  id: number
  pid: number
  seenAt: Date
}

/** Returns the living workers, oldest first. Those of earlier tests may still have a row, but have no session. */
export const workersOf = ({ app }: TestApp) =>
  app.sql<Worker>(
    `select w.id, l.pid, w.seen_at as "seenAt" from workers w join pg_locks l on l.locktype = 'advisory' and l.objid = w.id and l.granted
       and l.database = (select oid from pg_database where datname = current_database())
     where w.job = 'deliveries' order by w.id`,
  )

/** An app, with an account and a receiver of its own for each test, and workers of deliveries in threads, which end with it. */
export const useWorkers = () => {
  let account: TestAccount
  let receiver: Receiver
  const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
  beforeEach(async () => {
    account = await t.account()
    receiver = await openReceiver()
  })
  afterEach(async () => {
    await endStarted()
    await receiver.close()
    await t.app.sql('delete from pending_deliveries')
  })

  const counts = () => tally(t.app, account.id)
  return {
    t,
    account: standIn(() => account),
    receiver: standIn(() => receiver),
    start: (skewMs = 0) => startJob(t, 'deliveries', { skewMs }),
    counts,
    delivered: (count: number) => eventually(async () => (await counts()).delivered === count),
    /** Returns the number of claimed deliveries of each worker, in the order of their starts. */
    claimed: async () =>
      (
        await t.app.sql<{ count: number }>(
          'select count(*) from pending_deliveries where worker is not null group by worker order by worker',
        )
      ).map(({ count }) => count),
  }
}

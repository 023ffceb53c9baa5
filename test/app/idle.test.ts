import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { loadLooks } from '../../src/app/daemon/jobs.looks.ts'
import { journeyMails } from '../../src/app/journeys.mail.ts'
import { runBookingReminders } from '../../src/bookings/bookings.remind.ts'
import { runMailboxes } from '../../src/bounces/mailboxes.read.ts'
import { runBroadcasts } from '../../src/broadcasts/broadcasts.loop.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import { runJourneys } from '../../src/journeys/engine/runs.loop.ts'
import { runMail } from '../../src/messages/outbox/outbox.run.ts'
import { runResults } from '../../src/results/fold.ts'
import type { App } from '../../src/store/work.ts'
import { runReminders } from '../../src/webinars/reminders/reminders.due.ts'
import { useApp } from '../support/app.ts'
import { textOf } from '../support/database.ts'
import { eventually } from '../support/deliveries.ts'

const t = useApp()

/** Returns an app of its own that records the statements of its pool and the start of transactions. */
const noting = async (said: string[]): Promise<App & { close(): Promise<void> }> => {
  const app = await openApp(readConfig(t.env), { schema: 'ignore', connections: 4 })
  const sql: App['sql'] = (query, ...more) => {
    said.push(textOf(query).trim().slice(0, 60))
    return app.sql(query, ...more)
  }
  const transaction: App['database']['transaction'] = (...given) => {
    said.push('begin')
    return app.database.transaction(...given)
  }
  return { ...app, sql, database: { ...app.database, sql, transaction } }
}

test('queues in which nothing is due are polled by the heartbeats of their workers only', async () => {
  const said: string[] = []
  const app = await noting(said)
  const stop = new AbortController()
  const report = (fault: unknown) => {
    throw fault
  }
  const loops = [
    runDeliveries(app, stop.signal, report, await loadLooks('deliveries')),
    runMail(app, stop.signal, report, await loadLooks('mail')),
    runResults(app, stop.signal, report),
    runMailboxes(app, stop.signal, report),
    runBroadcasts(app, stop.signal, report),
    runReminders(app, stop.signal, report),
    runBookingReminders(app, stop.signal, report),
    runJourneys(app, stop.signal, { report, sendMails: journeyMails(app) }),
  ]
  try {
    // A new process checks every queue once.
    await eventually(async () => {
      said.length = 0
      await sleep(4100)
      return said.length === 0
    })
  } finally {
    stop.abort()
    await Promise.all(loops)
    await app.close()
  }
})

import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createWebinar, NewWebinar, startWebinar } from '../../src/webinars/webinars.ts'
import { startDaemon } from '../support/daemon.ts'
import { type Bench, below, benchAccount, cpuSeconds, type Row, row } from './support.ts'

/** Of each kind of connection. */
const measuredMs = 20_000
/** A proxy's connections, and one for each report. */
const agents = { pooled: new Agent({ keepAlive: true, maxSockets: 64 }), single: new Agent({ keepAlive: false }) }

const post = (url: string, agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode!))
    })
    sent.once('error', reject).end()
  })

/** What a daemon of its own needs for attendees of one webinar whose join pages report once a minute. */
export const bench = async (b: Bench, attendees = 5_000): Promise<Row[]> => {
  const url = await b.database()
  const env = b.env(url)
  const app = await openApp(readConfig(env))
  const { id: accountId } = await benchAccount(app)
  const webinar = await app.work(accountId, 'cli:bench', async (work) => {
    const { id } = await createWebinar(work, NewWebinar.parse({ title: 'Launch' }))
    return startWebinar(work, id)
  })
  await app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, created_at, updated_at)
     select $1, 'reg_' || n, $2, 'p' || n || '@people.example', 'P', 'confirmed', n, $3, $3 from generate_series(1, $4) n`,
    [accountId, webinar.id, app.now(), attendees],
  )
  const tokens = Array.from({ length: attendees }, (_, i) => app.tokens.sign('join', [accountId, `reg_${i + 1}`], null))
  const daemon = await startDaemon({ env }, { args: ['serve', '--no-jobs'] })
  let next = 0
  let refused = 0
  /** Reports, or asks for the path `other`, one after another, `everyMs` apart, for `ms`. Returns the number of reports. */
  const reportFor = async (ms: number, everyMs: number, agent: Agent, other?: string): Promise<number> => {
    const pending: Promise<void>[] = []
    const startedAt = performance.now()
    for (let sent = 0; ; sent++) {
      const waitMs = startedAt + sent * everyMs - performance.now()
      if (sent * everyMs >= ms) break
      if (waitMs > 0) await sleep(waitMs)
      const path = other ?? `/join/${tokens[next++ % attendees]}/presence`
      pending.push(
        post(daemon.url + path, agent).then((status) => {
          if (status !== (other ? 404 : 200)) refused++
        }),
      )
    }
    await Promise.all(pending)
    return pending.length
  }
  // The first report of each attendee warms the daemon up.
  await reportFor(2 * attendees, 2, agents.pooled)
  const measure = async (agent: Agent, path?: string) => {
    const before = await cpuSeconds(daemon.pid)
    const startedAt = performance.now()
    const reports = await reportFor(measuredMs, 60_000 / attendees, agent, path)
    const seconds = (performance.now() - startedAt) / 1000
    const cpu = (await cpuSeconds(daemon.pid)) - before
    return { percent: (100 * cpu) / seconds, ms: (1000 * cpu) / reports }
  }
  const pooled = await measure(agents.pooled)
  const single = await measure(agents.single)
  const empty = await measure(agents.single, '/no/route')
  const [stored] = await app.sql<{ seen: number }>(
    'select count(*)::int as seen from webinar_registrations where account_id = $1 and seen is not null',
    [accountId],
  )
  await daemon.stop()
  await app.close()
  for (const agent of Object.values(agents)) agent.destroy()
  const missing = Math.min(next, attendees) - stored!.seen
  const once = `${attendees} attendees that report once a minute`
  return [
    below(`${once}, over a proxy's connections`, '% of a core', pooled.percent, 5),
    below('CPU of the daemon for such a report', 'ms', pooled.ms, 0.6),
    row(
      'each report on a connection of its own, beside requests that no route answers',
      '% of a core',
      { ours: single.percent, limit: empty.percent },
      { atMost: 1.3 },
    ),
    below('reports that were refused or not stored', '', refused + missing, 0),
  ]
}

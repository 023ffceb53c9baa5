import { createAccount, createKey } from '../../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { createList } from '../../../src/contacts/contacts.ts'
import { listPipelines } from '../../../src/deals/deals.ts'
import { applyJourneys } from '../../../src/journeys/journeys.ts'
import { addSender } from '../../../src/senders/senders.ts'
import { markDevelopment } from '../../../src/store/clock.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { migrate } from '../../../src/store/schema.ts'
import { applyProjects, loadTemplate } from '../../../src/studio/studio.ts'
import { suppressAddresses } from '../../../src/suppressions/suppressions.ts'
import { createWebhook } from '../../../src/webhooks/webhooks.ts'
import { createWebinar, NewWebinar } from '../../../src/webinars/webinars.ts'
import { plainProject } from '../../support/projects.ts'
import { openReceiver, type Receiver } from '../../support/receiver.ts'
import { urlOf } from '../../support/server.ts'
import { openSink, type Sink } from '../../support/smtp.ts'
import { prepareClock } from './clock.ts'
import { type Away, awayDatabase, openAway } from './moves.ts'

export const eventTypes = [
  'contact.created',
  'contact.updated',
  'deal.created',
  'deal.stage_changed',
  'journey.completed',
] as const

const lists = ['singles', 'pool', 'imported', 'travellers'] as const
export type ListName = (typeof lists)[number]

/** An account with everything that the writers use, the receivers of what it sends, and its database. */
export interface World {
  app: OpenApp
  /** The URL of the database, without a proxy that faults break. */
  url: string
  env: Record<string, string>
  receiver: Receiver
  sink: Sink
  accountId: string
  key: string
  /** The secret of the subscription to `eventTypes`. */
  secret: string
  lists: Record<ListName, string>
  journeyId: string
  /** The ids of the default pipeline's stages, in board order. */
  stages: string[]
  /** One without a capacity, one with few seats; both start a day and `reminderDelayMs` from now. */
  webinars: { id: string; capacity: number | null }[]
  /** Another installation, whose account moves here and back. */
  away: Away
  close(): Promise<void>
}

export const suppressedAddress = 'suppressed@chaos.example'

const database = 'svc_chaos'
const hour = 3_600_000

/** Reminders of the webinars are due after this much time of the development clock. */
export const reminderDelayMs = hour

/** Creates the databases of both installations; returns the URL of the first. */
const createDatabases = async (serverUrl: string): Promise<string> => {
  const url = urlOf(serverUrl, database)
  const server = openDatabase(serverUrl, { max: 1 })
  await server.sql(`create database ${database}`)
  const empty = openDatabase(url, { max: 1 })
  await prepareClock(empty.sql, database)
  await empty.close()
  const fresh = openDatabase(url, { max: 1 })
  await migrate(fresh, url)
  await fresh.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('chaos.example', 'mx', now() + interval '10 years')`,
  )
  await fresh.close()
  // The other installation has a clock of its own, which no fault moves.
  await server.sql(`create database ${awayDatabase} template ${database}`)
  await server.close()
  const own = openDatabase(url, { max: 1 })
  await markDevelopment(own.sql)
  await own.close()
  return url
}

const populate = async (app: OpenApp, receiver: Receiver) => {
  const { id: accountId } = await app.operate('cli:chaos', (operation) =>
    createAccount(operation, { name: 'Chaos', plan: 'unlimited' }),
  )
  const made = await app.work(accountId, 'cli:chaos', async (work) => {
    const { key } = await createKey(work, { name: 'chaos' })
    await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
    await suppressAddresses(work, [suppressedAddress], 'manual')
    const [project] = await applyProjects(work, [plainProject('Welcome')])
    const ids = {} as Record<ListName, string>
    for (const name of lists) ids[name] = (await createList(work, { name })).id
    const [pipeline] = await listPipelines(work)
    const [journey] = await applyJourneys(work, [
      {
        name: 'Chaos',
        trigger: { kind: 'api' },
        steps: [
          { kind: 'delay', for: '2s' },
          { kind: 'send-email', project: 'Welcome', type: 'transactional' },
          { kind: 'webhook', url: `${receiver.url}/step`, body: { email: '{{ email }}' } },
        ],
      },
    ])
    const scheduledAt = app.now().getTime() + 24 * hour + reminderDelayMs
    const webinars: World['webinars'] = []
    for (const capacity of [null, 10]) {
      const { id } = await createWebinar(work, NewWebinar.parse({ title: 'Live', scheduledAt, capacity }))
      webinars.push({ id, capacity })
    }
    const stages = pipeline!.stages.map(({ id }) => id)
    return { key, lists: ids, journeyId: journey!.id!, stages, webinars, project: project! }
  })
  const { project, ...rest } = made
  await loadTemplate(app, { accountId, id: project.id!, version: project.version })
  const { secret } = await createWebhook(
    app,
    accountId,
    'cli:chaos',
    { url: `${receiver.url}/hook`, events: [...eventTypes] },
    { createdVia: 'dashboard', trusted: true },
  )
  return { accountId, secret, ...rest }
}

export const openWorld = async (serverUrl: string): Promise<World> => {
  const [receiver, sink] = await Promise.all([openReceiver(), openSink()])
  const url = await createDatabases(serverUrl)
  const env = {
    SVC_SECRET: 'a secret that only tests use',
    SVC_SMTP_URL: sink.url,
    SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8',
    SVC_RATE_LIMIT: '0',
    SVC_RATE_LIMIT_WEBHOOKS: '0',
    SVC_RATE_LIMIT_PUBLIC: '0',
    SVC_LOG_LEVEL: 'info',
  }
  const app = await openApp(readConfig({ ...env, DATABASE_URL: url }))
  const away = await openAway(serverUrl, env, receiver.url)
  return {
    app,
    url,
    env,
    receiver,
    sink,
    away,
    ...(await populate(app, receiver)),
    async close() {
      await away.close()
      await app.close()
      await Promise.all([receiver.close(), sink.close()])
    },
  }
}

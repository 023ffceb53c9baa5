import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createAccount } from '../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { newId } from '../../src/lib/ids.ts'
import { openEmbedded } from '../../src/store/embedded.ts'

/** One line of the table: what we do, what the limit or the peer does in the same run, and the quotient. */
export interface BenchRow {
  name: string
  ours: number
  limit: number
  ratio: number
  unit: string
}

export interface Bench {
  app: OpenApp
  close(): Promise<void>
}

const onServer = async (url: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** The app on a new database, with fsync as in production: on the server of DATABASE_URL, or an embedded one. */
export const openBench = async (): Promise<Bench> => {
  const given = process.env.DATABASE_URL
  const folder = given ? null : await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const embedded = folder ? await openEmbedded(folder) : null
  const serverUrl = given ?? embedded!.url
  const name = `svc_bench_${process.pid}_${Date.now().toString(36)}`
  await onServer(serverUrl, `create database ${name}`)
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href
  const config = readConfig({
    DATABASE_URL: url,
    SVC_SECRET: 'a secret that only benches use',
    SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8',
    SVC_RATE_LIMIT: '0',
    SVC_RATE_LIMIT_WEBHOOKS: '0',
    SVC_LOG_LEVEL: 'silent',
  })
  const app = await openApp(config, { schema: 'migrate' })
  return {
    app,
    async close() {
      await app.close()
      await onServer(serverUrl, `drop database if exists ${name} with (force)`)
      await embedded?.close()
      if (folder) await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface Sink {
  url: string
  count(): Promise<number>
  /** Event id and time of arrival (epoch ms) of what came to /timed since the last call. */
  arrivals(): Promise<[string, number][]>
  close(): void
}

export const openSink = async (): Promise<Sink> => {
  const child = fork(join(import.meta.dirname, 'sink.ts'))
  const [port] = await once(child, 'message')
  const ask = async (question: string) => {
    const answered = once(child, 'message')
    child.send(question)
    return (await answered)[0]
  }
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => ask('count'),
    arrivals: () => ask('arrivals'),
    close: () => child.disconnect(),
  }
}

/** An account with one webhook, of contact.created, to `url`. */
export const subscribe = async (app: OpenApp, url: string): Promise<{ accountId: string; webhookId: string; secret: string }> => {
  const now = app.now()
  const { id: accountId } = await app.operate('cli:bench', (operation) =>
    createAccount(operation, { name: newId('acc', now.getTime()), plan: 'unlimited' }),
  )
  const webhookId = newId('whk', now.getTime())
  const secret = `whsec_${webhookId}`
  await app.sql(
    `insert into webhooks (id, account_id, url, events, created_via, status, sealed_secret, created_at)
     values ($1, $2, $3, '{contact.created}', 'api', 'active', $4, $5)`,
    [webhookId, accountId, url, app.box.seal(secret, webhookId), now],
  )
  return { accountId, webhookId, secret }
}

/** Time from one call to the next, in ms. */
export const stopwatch = () => {
  const startedAt = performance.now()
  return () => performance.now() - startedAt
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)

export const percentile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export const until = async (isDone: () => Promise<boolean>, everyMs = 20): Promise<void> => {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, everyMs))
}

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenApp } from '../../src/app/app.ts'
import { emit } from '../../src/events/emit.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { newId } from '../../src/lib/ids.ts'

export interface Sink {
  url: string
  /** The number of requests so far. */
  count(): Promise<number>
  /** Event id and arrival time (epoch ms) of the requests under /timed since the last call. */
  arrivals(): Promise<Map<string, number>>
  close(): void
}

/** Starts a receiver in a separate process. */
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
    arrivals: async () => new Map(await ask('arrivals')),
    close: () => child.disconnect(),
  }
}

/** Creates a webhook of contact.created, in a new account unless `existing` names one. */
export const subscribe = async (
  app: OpenApp,
  url: string,
  existing?: string,
): Promise<{ accountId: string; webhookId: string }> => {
  const now = app.now()
  const accountId = existing ?? newId('acc', now.getTime())
  const webhookId = newId('whk', now.getTime())
  if (!existing)
    await app.sql(`insert into accounts (id, name, plan, created_at) values ($1, $1, 'unlimited', $2)`, [
      accountId,
      now,
    ])
  await app.sql(
    `with target as (
       insert into delivery_targets (id, account_id, kind, url, sealed_secret, status, created_at)
       values ($1, $2, 'subscription', $3, $4, 'active', $5)
     )
     insert into webhooks (id, account_id, events, created_via, created_at)
     values ($1, $2, '{contact.created}', 'api', $5)`,
    [webhookId, accountId, url, app.box.seal(`whsec_${webhookId}`, webhookId), now],
  )
  return { accountId, webhookId }
}

/** Emits events in one transaction; returns the time just before its commit (epoch ms). */
export const emitEvents = (app: OpenApp, accountId: string, count: number): Promise<number> =>
  app.work(accountId, 'cli:bench', async (work) => {
    const { contact } = sampleEvent('contact.created', { now: work.now.getTime() }).data
    await emit(work, 'contact.created', () => Array.from({ length: count }, () => ({ contact })))
    return performance.timeOrigin + performance.now()
  })

/** Returns the time from commit to arrival, in ms, of each of `count` single events, `everyMs` apart. */
export const gentleLoad = async (
  app: OpenApp,
  sink: Sink,
  accountId: string,
  { count, everyMs }: { count: number; everyMs: number },
): Promise<number[]> => {
  const commits: number[] = []
  await sink.arrivals()
  for (let i = 0; i < count; i++) {
    commits.push(await emitEvents(app, accountId, 1))
    await sleep(everyMs)
  }
  await sleep(1500)
  const ids = await app.sql<{ id: string }>(
    `select id from events where account_id = $1 order by created_at desc, id desc limit $2`,
    [accountId, count],
  )
  const arrivals = await sink.arrivals()
  if (arrivals.size < count) throw new Error(`${arrivals.size} of ${count} arrived`)
  return ids.reverse().map(({ id }, i) => arrivals.get(id)! - commits[i]!)
}

export const until = async (isDone: () => Promise<boolean>, everyMs = 20): Promise<void> => {
  while (!(await isDone())) await sleep(everyMs)
}

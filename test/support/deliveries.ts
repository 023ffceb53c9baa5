import type { OpenApp } from '../../src/app/app.ts'
import type { DeliveryAttempt } from '../../src/deliveries/deliveries.entities.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import { emit } from '../../src/events/emit.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import type { Report } from '../../src/store/work.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { eventually } from './eventually.ts'
import { atEnd } from './scope.ts'

export { eventually }

export interface DeliveryRow {
  id: string
  eventId: string
  webhookId: string
  status: 'pending' | 'delivered' | 'exhausted' | 'cancelled'
  tries: number
  claim: number
  dueAt: Date
  worker: number | null
  finishedAt: Date | null
  attempts: DeliveryAttempt[]
}

/** Makes the second attempt of an event's delivery due now instead of in 10 s, once the first one is recorded. */
export const retryNow = async ({ sql }: Pick<OpenApp, 'sql'>, accountId: string, eventId: string): Promise<void> => {
  await eventually(async () => {
    const rows = await sql(
      `with made_due as (
         update pending_deliveries set due_at = now() where account_id = $1 and key = $2 and tries = 1 and worker is null
         returning target_id
       )
       update delivery_targets set next_due_at = now(), version = version + 1 where id in (select target_id from made_due)
       returning id`,
      [accountId, eventId],
    )
    return rows.length
  })
  await sql(`select pg_notify('svc_deliveries', '')`)
}

/** Creates a webhook of contact.created, with `apiKeyId` as an API client does; returns its id and secret. */
export const subscribe = (app: OpenApp, accountId: string, url: string, apiKeyId?: string) =>
  createWebhook(
    app,
    accountId,
    'cli:test',
    { url, events: ['contact.created'] },
    {
      createdVia: 'api',
      trusted: true,
      ...(apiKeyId && { apiKeyId }),
    },
  )

/** Emits contact.created events in one transaction. */
export const emitEvents = (app: OpenApp, accountId: string, count = 1): Promise<void> =>
  app.work(accountId, 'cli:test', (work) => {
    const { contact } = sampleEvent('contact.created', { now: work.now.getTime() }).data
    return emit(work, 'contact.created', () => Array.from({ length: count }, () => ({ contact })))
  })

/** Ends the pending deliveries of the account with this status. */
export const endPending = (app: OpenApp, accountId: string, status: 'delivered' | 'exhausted' | 'cancelled') =>
  app.sql(
    `with gone as (delete from pending_deliveries where account_id = $1 returning *)
     insert into ended_deliveries (account_id, id, target_id, key, type, body, status, claim, attempts, created_at, finished_at)
     select account_id, id, target_id, key, type, body, $2, claim, attempts, created_at, now() from gone`,
    [accountId, status],
  )

/** The account's deliveries, oldest first. */
export const deliveriesOf = (app: OpenApp, accountId: string): Promise<DeliveryRow[]> =>
  app.sql<DeliveryRow>(
    `select id, key as "eventId", target_id as "webhookId", status, tries, claim, due_at as "dueAt", worker, finished_at as "finishedAt", attempts
     from deliveries where account_id = $1 order by id`,
    [accountId],
  )

/** The error of a post whose answer came too late. */
export const late = 'timed out after 5 s'

/** Returns the number of posts whose answer came too late, which are repeated: on a slow machine also those of a quick receiver. */
export const latePosts = async (app: OpenApp, accountId: string): Promise<number> =>
  (await deliveriesOf(app, accountId)).flatMap(({ attempts }) => attempts).filter(({ error }) => error === late).length

/** Returns the number of the account's deliveries in each state. */
export const tally = async (app: OpenApp, accountId: string): Promise<Record<string, number>> => {
  const rows = await app.sql<{ status: string; count: number }>(
    'select status, count(*) from deliveries where account_id = $1 group by status',
    [accountId],
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

const fail: Report = (fault) => {
  throw fault
}

/**
 * Runs the delivery loop in this process until the end of the test or `stop`, which shut it down gracefully. An unexpected error
 * fails the run, unless `report` takes it.
 */
export const startDeliveries = (app: OpenApp, report = fail): { stop(): Promise<void> } => {
  const stop = new AbortController()
  const running = runDeliveries(app, stop.signal, report)
  running.catch(() => {})
  const end = () => {
    stop.abort()
    return running
  }
  atEnd(end)
  return { stop: end }
}

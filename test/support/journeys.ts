import { journeyMails } from '../../src/app/journeys.mail.ts'
import { createList, readContacts } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import { listPipelines } from '../../src/deals/deals.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import { runJourneys } from '../../src/journeys/engine/runs.loop.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import type { Work } from '../../src/store/work.ts'
import type { TestAccount, TestApp } from './app.ts'
import { waitLimitMs } from './slowness.ts'

export const day = 86_400_000

/** A clock that a test can set. */
export const testClock = (start = Date.UTC(2026, 10, 1)) => {
  let nowMs = start
  return {
    now: () => new Date(nowMs),
    advance: (ms: number) => {
      nowMs += ms
    },
  }
}

export interface JourneyBench {
  account: TestAccount
  work<T>(run: (work: Work) => Promise<T>): Promise<T>
  list(name: string): Promise<string>
  /** Writes contacts as the API does. */
  add(listId: string, emails: readonly string[], fields?: Record<string, string>): Promise<void>
  apply(document: unknown): Promise<string>
  stages(): Promise<{ id: string; name: string }[]>
  contacts(email: string): ReturnType<typeof readContacts>
  runs(journeyId: string): ReturnType<typeof runsOf>
  /** Runs the engine until nothing is due. */
  drain(faults?: FaultSeen[], timeoutMs?: number): Promise<void>
  subscribe(...events: string[]): Promise<void>
}

export interface FaultSeen {
  message: string
  runId?: string
}

interface Run {
  id: string
  email: string
  status: string
  reason: string | null
  depth: number
  log: { step: string; kind: string; outcome: string }[]
}

/** Returns the runs of a journey in the order of their start, each with its step log. */
const runsOf = (target: TestApp, accountId: string, journeyId: string) =>
  target.app.sql<Run>(
    `select r.id, r.email, r.status, r.reason, r.depth, coalesce((
       select json_agg(json_build_object('step', l.step, 'kind', l.kind, 'outcome', l.outcome) order by l.step_no)
       from journey_step_log l where l.account_id = r.account_id and l.run_id = r.id
     ), '[]') as log
     from journey_runs r where r.account_id = $1 and r.journey_id = $2 order by r.entered_at, r.id`,
    [accountId, journeyId],
  )

const readDue = async (target: TestApp): Promise<{ runs: boolean; deliveries: boolean }> => {
  const [due] = await target.app.sql<{ runs: boolean; deliveries: boolean }>(
    `select exists (
       select from journey_runs
       where status in ('running', 'waiting') and delivery_id is null and greatest(due_at, retry_at) <= $1
     ) as runs, exists (
       select from pending_deliveries where due_at <= svc_now() or worker is not null
     ) as deliveries`,
    [target.app.now()],
  )
  return due!
}

/**
 * Runs the engine and the deliveries in this process until nothing is due. Throws an error that the engine reports, unless
 * `faults` collects it.
 */
export const drain = async (target: TestApp, faults?: FaultSeen[], timeoutMs = waitLimitMs): Promise<void> => {
  const stop = new AbortController()
  const seen: FaultSeen[] = faults ?? []
  const report = (fault: unknown, at: object) => void seen.push({ message: (fault as Error).message, ...at })
  const running = [runJourneys(target.app, stop.signal, { report, sendMails: journeyMails(target.app) })]
  const deadline = performance.now() + timeoutMs
  try {
    // Idle twice in a row: a row written during the first check has a later due time.
    for (let idle = 0; idle < 2; ) {
      if (performance.now() > deadline) throw new Error('runs are still due')
      await Promise.race([Promise.all(running), new Promise((resolve) => setTimeout(resolve, 10))])
      const due = await readDue(target)
      // Without deliveries, their worker and its session would cost more than most runs.
      if (due.deliveries && running.length === 1) running.push(runDeliveries(target.app, stop.signal))
      idle = due.runs || due.deliveries ? 0 : idle + 1
    }
  } finally {
    stop.abort()
    await Promise.all(running)
  }
  if (!faults && seen.length > 0) throw new Error(`the engine met a fault: ${seen[0]!.message}`)
}

/** Creates an account, and returns it with helpers for its lists, contacts, journeys and runs. */
export const journeyBench = async (target: TestApp): Promise<JourneyBench> => {
  const account = await target.account()
  const work = <T>(run: (work: Work) => Promise<T>) => target.app.work(account.id, 'cli:test', run)
  return {
    account,
    work,
    list: async (name) => (await work((w) => createList(w, { name }))).id,
    add: async (listId, emails, fields = {}) => {
      const contacts = emails.map((email) => ({ email, fields }))
      await upsertBatch(target.app, account.id, 'cli:test', { listId, contacts })
    },
    apply: async (document) => (await work((w) => applyJourneys(w, [document])))[0]!.id!,
    stages: async () => (await work((w) => listPipelines(w)))[0]!.stages,
    contacts: (email) => work((w) => readContacts(w, email)),
    runs: (journeyId) => runsOf(target, account.id, journeyId),
    drain: (faults, timeoutMs) => drain(target, faults, timeoutMs),
    subscribe: async (...events) => {
      const { status } = await target.request('POST', '/webhooks', {
        key: account.key,
        body: { url: 'https://hooks.example.com/x', events },
      })
      if (status !== 201) throw new Error(`subscribe answered ${status}`)
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import {
  addStage,
  changeDeal,
  createDeal,
  deleteStage,
  findStage,
  listPipelines,
  NewDeal,
} from '../../src/deals/deals.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { isBusy } from '../../src/store/database.ts'
import type { Work } from '../../src/store/work.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { countsOf } from '../support/database.ts'
import { emitEvents, eventually, subscribe } from '../support/deliveries.ts'
import { useReceiver } from '../support/receiver.ts'

/** A full run uses `SVC_MIXED_SECONDS=60`; the test suite takes less time. */
const seconds = Number(process.env.SVC_MIXED_SECONDS ?? 12)

const daemons: Daemon[] = []

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const good = useReceiver()
const gone = useReceiver()
beforeAll(async () => {
  gone.always({ status: 410 })
})
afterAll(() => Promise.all(daemons.map((daemon) => daemon.kill('SIGKILL'))))

const inWork = <T>(account: TestAccount, run: (work: Work) => Promise<T>): Promise<T> =>
  t.app.work(account.id, 'cli:test', run)

/** An account with a list of fifty contacts, a journey that moves deals, and a webhook for all events. */
const settle = async () => {
  const account = await t.account()
  await subscribe(t.app, account.id, good.url)
  const listId = await inWork(account, async (work) => {
    const { id } = await createList(work, { name: 'Leads' })
    await listPipelines(work)
    await applyJourneys(work, [
      {
        name: 'Onward',
        trigger: { kind: 'deal-stage-changed', stage: 'New' },
        reentry: 'always',
        steps: [
          { kind: 'update-field', field: 'seen', value: 'yes' },
          { kind: 'move-deal', stage: 'Qualified' },
        ],
      },
    ])
    return id
  })
  const contacts = Array.from({ length: 50 }, (_, i) => ({ email: `p${i}@mixed.example`, fields: {} }))
  await upsertBatch(t.app, account.id, 'cli:test', { listId, contacts })
  return { account, listId }
}

/** Ignores refusals, and waits for locks that took too long (503 for a client); throws unexpected errors. Deadlocks are counted. */
const unlessRefused = (error: { kind?: string }) => {
  if (!error.kind && !isBusy(error)) throw error
}

test(`${seconds} s of concurrent work of all kinds: no deadlock, no orphaned rows, no unexpected error`, {
  timeout: (seconds + 60) * 1000,
}, async () => {
  const { account, listId } = await settle()
  for (let i = 0; i < 2; i++) daemons.push(await startDaemon(t))
  const until = performance.now() + seconds * 1000
  const repeat = async (everyMs: number, run: (round: number) => Promise<unknown>) => {
    for (let round = 0; performance.now() < until; round++) {
      await run(round).catch(unlessRefused)
      await sleep(everyMs)
    }
  }
  const ended: string[] = []
  const doomed: string[] = []
  const ends = await Promise.allSettled([
    // Creates deals; each starts a journey, which moves the deal.
    repeat(20, (round) =>
      inWork(account, (work) =>
        createDeal(work, NewDeal.parse({ title: `D${round}`, email: `p${round % 50}@mixed.example` }), {
          source: 'api',
        }),
      ),
    ),
    // Moves deals to a stage while the stage is deleted and its deals are moved to another one.
    repeat(300, async (round) => {
      const name = `Side ${round}`
      await inWork(account, (work) => addStage(work, 'Sales', { name, kind: 'open' }))
      const moves = Array.from({ length: 10 }, () =>
        inWork(account, async (work) => {
          const { id } = await findStage(work, name, 'Sales')
          const { deal } = await createDeal(work, NewDeal.parse({ title: name, email: 'p1@mixed.example' }), {
            source: 'api',
          })
          await changeDeal(work, deal.id, { stageId: id })
        }).catch(unlessRefused),
      )
      await sleep(20)
      await inWork(account, async (work) =>
        deleteStage(work, await findStage(work, name, 'Sales'), await findStage(work, 'Proposal', 'Sales')),
      )
      await Promise.all(moves)
    }),
    // Writes to the list while journeys write to its contacts.
    repeat(30, (round) => {
      const contacts = Array.from({ length: 50 }, (_, i) => ({
        email: `p${i}@mixed.example`,
        fields: { round: `${round}` },
      }))
      return upsertBatch(t.app, account.id, 'cli:test', { listId, contacts })
    }),
    // Emits events to endpoints that answer 410 to both daemons at once.
    repeat(400, async () => {
      for (let i = 0; i < 5; i++) ended.push((await subscribe(t.app, account.id, gone.url)).id)
      await emitEvents(t.app, account.id, 40)
      for (const id of ended.splice(0, ended.length - 20)) {
        await ok(t.request('DELETE', `/webhooks/${id}`, { key: account.key }))
      }
    }),
    // Deletes accounts while they emit events.
    repeat(500, async () => {
      const other = await t.account()
      doomed.push(other.id)
      await subscribe(t.app, other.id, good.url)
      const writing = Array.from({ length: 4 }, async () => {
        for (let i = 0; i < 20; i++) await emitEvents(t.app, other.id, 5).catch(unlessRefused)
      })
      await sleep(50)
      await deleteAccount(t.app, other.id, { actor: 'cli:test' })
      await Promise.all(writing)
    }),
  ])
  // The others have ended too, so that nothing uses the database after a failure.
  expect(ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))).toEqual([])
  await eventually(async () => {
    const rows = await t.app.sql(
      `select p.id from pending_deliveries p left join delivery_targets t on t.id = p.target_id and t.status = 'active'
       where t.id is null limit 1`,
    )
    return rows.length === 0
  })
  // The sessions of the daemons report at their end.
  await Promise.all(daemons.map((daemon) => daemon.stop()))
  expect((await countsOf(t.app.database)).deadlocks).toBe(0)
  for (const table of [
    'events',
    'pending_deliveries',
    'ended_deliveries',
    'delivery_targets',
    'webhooks',
    'accounts',
  ]) {
    const owner = table === 'accounts' ? 'id' : 'account_id'
    expect(await t.app.sql(`select 1 from ${table} where ${owner} = any($1) limit 1`, [doomed])).toEqual([])
  }
  expect(daemons.map((daemon) => daemon.log()).join('')).not.toMatch(/unexpected error|job failed/)
})

import { beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import {
  addStage,
  changeDeal,
  createDeal,
  createPipeline,
  dealHistory,
  dealOf,
  deleteStage,
  findPipeline,
  findStage,
  listPipelines,
  type PipelineView,
  renameStage,
  reorderStages,
  setDefaultPipeline,
  setStageKind,
  showDeal,
} from '../../src/deals/deals.ts'
import { Problem } from '../../src/lib/problem.ts'
import type { Work } from '../../src/store/work.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'

let account: TestAccount
let sales: PipelineView
let listId: string

const email = 'ada@example.org'

const t = useApp()
beforeEach(async () => {
  account = await t.account()
  sales = await inWork((work) => findPipeline(work))
  listId = await inWork(async (work) => {
    const { id } = await createList(work, { name: 'Customers' })
    await writeContacts(work, id, [{ email, fields: {} }], new Map())
    return id
  })
  await ok(
    t.request('POST', '/webhooks', {
      key: account.key,
      body: { url: 'https://example.com/hook', events: ['deal.created', 'deal.stage_changed'] },
    }),
  )
})

const inWork = <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(account.id, 'cli:test', run)
const names = (pipeline: PipelineView) => pipeline.stages.map(({ name }) => name)
const stage = (name: string) => inWork((work) => findStage(work, name, sales.id))
const deal = async (stageName = 'New') => {
  const stageId = (await stage(stageName)).id
  return (await inWork((work) => createDeal(work, { title: 'Seats', email, stageId }, { source: 'manual' }))).deal
}
const kindOf = (run: Promise<unknown>) =>
  run.then(
    () => 'done',
    (error) => (error instanceof Problem ? error.kind : Promise.reject(error)),
  )
const moves = () => t.events(account.id, 'deal.stage_changed')

describe('pipelines', () => {
  test('GET /pipelines creates the default pipeline with five stages, and returns nothing else', async () => {
    const { key } = await t.account()
    const { status, body } = await t.request('GET', '/pipelines', { key })
    const id = expect.any(String)
    expect(status).toBe(200)
    expect(body).toEqual({
      pipelines: [
        {
          id: expect.stringMatching(/^pipe_/),
          name: 'Sales',
          isDefault: true,
          stages: [
            { id, name: 'New', kind: 'open' },
            { id, name: 'Qualified', kind: 'open' },
            { id, name: 'Proposal', kind: 'open' },
            { id, name: 'Won', kind: 'won' },
            { id, name: 'Lost', kind: 'lost' },
          ],
        },
      ],
    })
    expect((await t.request('GET', '/pipelines', { key })).body).toEqual(body)
  })

  test('concurrent first reads over two apps create one default pipeline', async () => {
    const fresh = await t.account()
    const other = await openApp(readConfig(t.env))
    const read = (app: typeof other) => app.work(fresh.id, 'cli:test', listPipelines)
    const reads = await Promise.all(Array.from({ length: 20 }, (_, i) => read(i % 2 ? other : t.app)))
    await other.close()
    expect(new Set(reads.map((pipelines) => JSON.stringify(pipelines))).size).toBe(1)
    expect(reads[0]!.map(names)).toEqual([['New', 'Qualified', 'Proposal', 'Won', 'Lost']])
  })

  test('the default pipeline comes first, and concurrent changes leave exactly one default', async () => {
    const others = []
    for (const name of ['A', 'B', 'C']) others.push(await inWork((work) => createPipeline(work, { name })))
    expect(others.map(({ isDefault }) => isDefault)).toEqual([false, false, false])
    await Promise.all(others.map(({ id }) => inWork((work) => setDefaultPipeline(work, id))))
    await inWork((work) => setDefaultPipeline(work, 'B'))
    const pipelines = await inWork(listPipelines)
    expect(pipelines.map(({ name, isDefault }) => [name, isDefault])).toEqual([
      ['B', true],
      ['Sales', false],
      ['A', false],
      ['C', false],
    ])
  })

  test('the first created pipeline does not replace the default pipeline', async () => {
    const fresh = await t.account()
    await t.app.work(fresh.id, 'cli:test', (work) => createPipeline(work, { name: 'Partners' }))
    const pipelines = await t.app.work(fresh.id, 'cli:test', listPipelines)
    expect(pipelines.map(({ name, isDefault }) => [name, isDefault])).toEqual([
      ['Sales', true],
      ['Partners', false],
    ])
  })

  test('a pipeline needs a unique name, an open stage and stages with different names', async () => {
    const create = (name: string, stages?: { name: string; kind: 'open' | 'won' }[]) =>
      kindOf(inWork((work) => createPipeline(work, { name, ...(stages && { stages }) })))
    expect(await create('Sales')).toBe('conflict')
    expect(await create(' ')).toBe('invalid')
    expect(await create('A', [])).toBe('invalid')
    expect(await create('A', [{ name: 'Won', kind: 'won' }])).toBe('invalid')
    expect(
      await create('A', [
        { name: 'X', kind: 'open' },
        { name: 'X', kind: 'won' },
      ]),
    ).toBe('invalid')
    expect(await inWork(listPipelines)).toHaveLength(1)
  })

  test('ids of another account are not found', async () => {
    const stranger = await t.account()
    const theirs = await t.app.work(stranger.id, 'cli:test', (work) => findPipeline(work))
    expect(await kindOf(inWork((work) => findPipeline(work, theirs.id)))).toBe('not_found')
    expect(await kindOf(inWork((work) => findStage(work, theirs.stages[0]!.id)))).toBe('not_found')
    expect(await kindOf(inWork((work) => setDefaultPipeline(work, theirs.id)))).toBe('not_found')
    expect(await kindOf(inWork((work) => addStage(work, theirs.id, { name: 'X', kind: 'open' })))).toBe('not_found')
    expect(await t.app.work(stranger.id, 'cli:test', (work) => findPipeline(work))).toEqual(theirs)
  })
})

describe('stages', () => {
  test('are found by id or name, in any case; a name in several pipelines means the default pipeline', async () => {
    expect((await inWork((work) => findStage(work, 'qualified'))).name).toBe('Qualified')
    const other = await inWork((work) => createPipeline(work, { name: 'Partners' }))
    expect((await inWork((work) => findStage(work, 'Won'))).pipeline.id).toBe(sales.id)
    expect((await inWork((work) => findStage(work, 'Won', undefined, other.id))).pipeline.id).toBe(other.id)
    expect((await inWork((work) => findStage(work, 'qualified', undefined, 'none'))).pipeline.id).toBe(sales.id)
    expect((await inWork((work) => findStage(work, 'Won', 'Partners'))).pipeline.id).toBe(other.id)
    expect((await inWork((work) => findStage(work, sales.stages[3]!.id))).pipeline.id).toBe(sales.id)
    expect(await kindOf(inWork((work) => findStage(work, 'None')))).toBe('not_found')
    await inWork((work) => createPipeline(work, { name: 'Third' }))
    await inWork(async (work) => renameStage(work, await findStage(work, 'Won'), 'Closed'))
    expect(await kindOf(inWork((work) => findStage(work, 'Won')))).toBe('invalid')
  })

  test('are added at the end, renamed and reordered; names stay unique', async () => {
    await inWork((work) => addStage(work, 'Sales', { name: 'Paused', kind: 'open' }))
    const paused = await stage('Paused')
    expect(await kindOf(inWork((work) => addStage(work, sales.id, { name: 'Won', kind: 'won' })))).toBe('conflict')
    expect(await kindOf(inWork((work) => renameStage(work, paused, 'Won')))).toBe('conflict')
    await inWork((work) => renameStage(work, paused, 'On hold'))
    await inWork((work) => renameStage(work, paused, 'On hold'))
    const ordered = await inWork((work) => reorderStages(work, sales.id, ['On hold', sales.stages[4]!.id]))
    expect(names(ordered)).toEqual(['On hold', 'Lost', 'New', 'Qualified', 'Proposal', 'Won'])
    const { body } = await ok(t.request('POST', '/deals', { key: account.key, body: { title: 'x', email } }))
    expect(body.deal).toMatchObject({ stageId: paused.id, stage: 'On hold' })
  })

  test('with the same name added concurrently: one is added, the other is refused', async () => {
    const add = () => kindOf(inWork((work) => addStage(work, sales.id, { name: 'Demo', kind: 'open' })))
    expect((await Promise.all([add(), add(), add()])).sort()).toEqual(['conflict', 'conflict', 'done'])
  })

  test('a change of kind updates the status of the stage’s deals, without event or history', async () => {
    const mine = await deal('Proposal')
    const other = await deal('New')
    const changed = await inWork(async (work) => setStageKind(work, await findStage(work, 'Proposal'), 'won'))
    expect(changed.deals).toBe(1)
    expect((await inWork((work) => showDeal(work, mine.id))).status).toBe('won')
    expect((await inWork((work) => showDeal(work, other.id))).status).toBe('open')
    expect(await moves()).toEqual([])
    expect(await inWork((work) => dealHistory(work, mine.id))).toHaveLength(1)
  })

  test('the status is the stage’s kind, also for deals that arrive while the kind changes', async () => {
    const proposal = await stage('Proposal')
    const waiting = await Promise.all(Array.from({ length: 8 }, () => deal('New')))
    const work = [
      ...Array.from({ length: 8 }, () => deal('Proposal')),
      ...waiting.map(({ id }) => inWork((w) => changeDeal(w, id, { stageId: proposal.id }))),
      inWork((w) => setStageKind(w, proposal, 'won')),
      inWork((w) => setStageKind(w, proposal, 'lost')),
    ]
    await Promise.all(work)
    const rows = await t.app.sql(
      'select distinct d.status, s.kind from deals d join stages s on s.id = d.stage_id where d.account_id = $1',
      [account.id],
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]!.status).toBe(rows[0]!.kind)
  })

  test('a pipeline keeps its last open stage when stages are removed concurrently', async () => {
    const open = await Promise.all(['New', 'Qualified', 'Proposal'].map(stage))
    const ends = await Promise.all([
      kindOf(inWork((work) => deleteStage(work, open[0]!, null))),
      kindOf(inWork((work) => setStageKind(work, open[1]!, 'lost'))),
      kindOf(inWork((work) => deleteStage(work, open[2]!, null))),
    ])
    expect(ends.sort()).toEqual(['conflict', 'done', 'done'])
    const left = (await inWork((work) => findPipeline(work, sales.id))).stages.filter(({ kind }) => kind === 'open')
    expect(left).toHaveLength(1)
  })

  test('with deals are deleted only with a target stage; each move has its history and its event', async () => {
    const first = await deal('New')
    const second = await deal('New')
    const [from, to] = [await stage('New'), await stage('Won')]
    expect(await kindOf(inWork((work) => deleteStage(work, from, null)))).toBe('invalid')
    expect(await kindOf(inWork((work) => deleteStage(work, from, from)))).toBe('invalid')
    const elsewhere = await inWork(async (work) =>
      findStage(work, 'Won', (await createPipeline(work, { name: 'B' })).id),
    )
    expect(await kindOf(inWork((work) => deleteStage(work, from, elsewhere)))).toBe('invalid')
    expect(await moves()).toEqual([])

    expect((await inWork((work) => deleteStage(work, from, to))).moved).toBe(2)
    for (const { id } of [first, second]) {
      expect(await inWork((work) => showDeal(work, id))).toMatchObject({ stageId: to.id, stage: 'Won', status: 'won' })
      expect((await inWork((work) => dealHistory(work, id))).map((row) => [row.from, row.to])).toEqual([
        [null, from.id],
        [from.id, to.id],
      ])
    }
    const events = (await moves()).map(({ data }) => [
      data.deal.id,
      data.deal.stage,
      data.deal.status,
      data.fromStageId,
    ])
    const expected = [first, second].map(({ id }) => [id, 'Won', 'won', from.id])
    expect(events.toSorted()).toEqual(expected.toSorted())
  })

  test('no deal is lost when its stage is deleted while deals arrive and move', async () => {
    const from = await stage('New')
    const to = await stage('Qualified')
    const before = await Promise.all(Array.from({ length: 6 }, () => deal('New')))
    const create = () =>
      t.request('POST', '/deals', { key: account.key, body: { title: 'Late', email, stageId: from.id } })
    const replies = await Promise.all([
      ...Array.from({ length: 6 }, create),
      ...before.map(({ id }) =>
        t.request('PATCH', `/deals/${id}`, { key: account.key, body: { title: 'Moved', stageId: to.id } }),
      ),
      inWork((work) => deleteStage(work, from, to)).then(() => ({ status: 200 })),
    ])
    expect(replies.every(({ status }) => [200, 201, 404].includes(status))).toBe(true)
    const made = replies.filter(({ status }) => status === 201).length
    const rows = await t.app.sql<{ stage_id: string; moves: number; n: number }>(
      `select stage_id, moves, (select count(*) from deal_history h where h.deal_id = d.id) as n from deals d where account_id = $1`,
      [account.id],
    )
    expect(rows).toHaveLength(before.length + made)
    for (const row of rows) expect([row.stage_id, row.moves, row.n]).toEqual([to.id, 2, 2])
    expect(await moves()).toHaveLength(rows.length)
  })
})

test('a journey moves the contact’s newest open deal in the pipeline, preferring the contact’s list', async () => {
  const other = await inWork(async (work) => {
    const { id } = await createList(work, { name: 'Newsletter' })
    await writeContacts(work, id, [{ email, fields: {} }], new Map())
    return id
  })
  const make = (title: string, list: string) =>
    inWork((work) => createDeal(work, { title, email, listId: list }, { source: 'journey' }))
  const { deal: older } = await make('Older', listId)
  const { deal: newer } = await make('Newer', listId)
  const { deal: elsewhere } = await make('Elsewhere', other)
  expect(elsewhere.source).toBe('journey')
  const partners = await inWork((work) => createPipeline(work, { name: 'Partners' }))
  await inWork((work) =>
    createDeal(work, { title: 'Partner', email, listId, pipelineId: partners.id }, { source: 'manual' }),
  )
  const own = (list: string, ids: string[] = []) =>
    inWork((work) => dealOf(work, { listId: list, rowId: older.rowId }, { stageId: sales.stages[1]!.id, ids }))
  expect((await own(listId))?.id).toBe(newer.id)
  const won = await stage('Won')
  await inWork((work) => changeDeal(work, newer.id, { stageId: won.id }))
  expect((await own(listId))?.id).toBe(older.id)
  await inWork((work) => changeDeal(work, older.id, { stageId: won.id }))
  expect((await own(listId))?.id).toBe(elsewhere.id)
  await inWork((work) => changeDeal(work, elsewhere.id, { stageId: won.id }))
  expect(await own(listId)).toBeNull()
  expect((await own(listId, ['deal_none', older.id, newer.id]))?.id).toBe(older.id)
})

test('an account is deleted with its pipelines and deals', async () => {
  await deal()
  const { deleteAccount } = await import('../../src/accounts/accounts.delete.ts')
  await deleteAccount(t.app, account.id, { actor: 'cli:test' })
  for (const table of ['pipelines', 'stages', 'deals', 'deal_history']) {
    expect(await t.app.sql(`select 1 from ${table} where account_id = $1`, [account.id])).toEqual([])
  }
})

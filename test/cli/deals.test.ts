import { beforeEach, describe, expect, test } from 'vitest'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { drawBoard } from '../../src/deals/board.draw.commands.ts'
import type { Board } from '../../src/deals/deals.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { type Ran, svc } from '../support/cli.ts'

let account: TestAccount

const email = 'ada@example.org'

const t = useApp()
beforeEach(async () => {
  account = await t.account()
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'Customers' })
    const people = [email, 'bo@example.org'].map((address) => ({ email: address, fields: {} }))
    await writeContacts(work, id, people, new Map())
  })
  await ok(
    t.request('POST', '/webhooks', {
      key: account.key,
      body: { url: 'https://example.com/hook', events: ['deal.created', 'deal.stage_changed'] },
    }),
  )
})

const run = (...args: string[]) => svc(t, [...args, '--account', account.id], { env: { SVC_USER: 'ada' } })
const json = async (...args: string[]) => {
  const ran = await run(...args, '--json')
  expect(ran.stderr).not.toMatch(/^error|"error"/)
  expect(ran.status).toBe(0)
  return ran.json
}
const expectFailure = (ran: Ran, status: number, error: RegExp) => {
  expect(ran.stderr).toMatch(error)
  expect([ran.status, ran.stdout]).toEqual([status, ''])
}
const types = async () => (await t.events(account.id)).map(({ type }) => type)
const newDeal = async (title: string, ...more: string[]) =>
  (await json('deals', 'create', '--title', title, '--email', email, ...more)).id as string

describe('svc pipelines', () => {
  test('the bare noun lists; create without --stage makes the default five; default changes the default pipeline', async () => {
    const { pipelines } = await json('pipelines')
    expect(pipelines).toMatchObject([{ name: 'Sales', isDefault: true }])
    const made = await json('pipelines', 'create', '--name', 'Partners')
    expect(made.isDefault).toBe(false)
    expect(made.stages.map((stage: { name: string }) => stage.name)).toEqual([
      'New',
      'Qualified',
      'Proposal',
      'Won',
      'Lost',
    ])
    expect(await json('pipelines', 'default', made.id)).toEqual({ ...made, isDefault: true })
    const plain = await run('pipelines', 'list')
    expect(plain.stdout.split('\n')[0]).toBe(
      `${made.id}\tPartners\tyes\tNew, Qualified, Proposal, Won (won), Lost (lost)`,
    )
    expectFailure(await run('pipelines', 'create'), 2, /Missing --name/)
    expectFailure(await run('pipelines', 'create', '--name', 'Sales'), 6, /already a pipeline named Sales/)
    expectFailure(await run('pipelines', 'default', 'pipe_none'), 3, /no pipeline pipe_none/)
  })

  test('create takes stages as name:kind and refuses an unknown kind or a pipeline without an open stage', async () => {
    const made = await json('pipelines', 'create', '--name', 'P', '--stage', 'A: b:open', '--stage', 'Signed:won')
    expect(made.stages).toMatchObject([
      { name: 'A: b', kind: 'open' },
      { name: 'Signed', kind: 'won' },
    ])
    expectFailure(await run('pipelines', 'create', '--name', 'Q', '--stage', 'A:hot'), 2, /one of open, won, lost/)
    expectFailure(await run('pipelines', 'create', '--name', 'Q', '--stage', 'A:won'), 2, /at least one open stage/)
  })

  test('stages are added, renamed, reordered, given another kind, and deleted after their deals are moved', async () => {
    const names = (pipeline: { stages: { name: string }[] }) => pipeline.stages.map(({ name }) => name)
    expect(names(await json('pipelines', 'stages', 'add', 'Sales', '--name', 'Demo', '--kind', 'open'))).toHaveLength(6)
    expect(names(await json('pipelines', 'stages', 'rename', 'Demo', 'Trial'))).toContain('Trial')
    const ordered = await json('pipelines', 'stages', 'reorder', 'Sales', 'Trial', 'Qualified')
    expect(names(ordered)).toEqual(['Trial', 'Qualified', 'New', 'Proposal', 'Won', 'Lost'])
    expect((await json('pipelines', 'stages', 'Sales')).stages).toHaveLength(6)

    const id = await newDeal('Seats')
    expect(await json('deals', 'show', id)).toMatchObject({ stage: 'Trial', status: 'open' })
    const kind = await run('pipelines', 'stages', 'set-kind', 'Trial', 'won')
    expect([kind.status, kind.stderr]).toEqual([0, '1 deal is won now.\n'])
    expect(await json('deals', 'show', id)).toMatchObject({ stage: 'Trial', status: 'won' })

    const remove = (...more: string[]) => run('pipelines', 'stages', 'delete', 'Trial', ...more)
    expectFailure(await remove('--yes'), 2, /Trial has 1 deal: --move-deals-to/)
    expectFailure(await remove('--move-deals-to', 'Lost'), 2, /needs --yes/)
    for (const how of ['--dry-run', '--yes'])
      expectFailure(await remove('--move-deals-to', 'Trial', how), 2, /can only move to another stage/)
    const dry = await remove('--move-deals-to', 'Lost', '--dry-run', '--json')
    expect(dry.json).toMatchObject({ dryRun: true, moved: 1, events: { 'deal.stage_changed': 1 } })
    expect(dry.stderr).toContain('1 deal to Lost (1 deal.stage_changed)')
    expect(await types()).toEqual(['deal.created'])
    expect((await remove('--move-deals-to', 'Lost', '--yes')).status).toBe(0)
    expect(await json('deals', 'show', id)).toMatchObject({ stage: 'Lost', status: 'lost' })
    expect(await types()).toEqual(['deal.created', 'deal.stage_changed'])
  })
})

describe('svc deals', () => {
  test('create prints the deal in its REST shape, with source manual', async () => {
    const deal = await json(
      ...['deals', 'create', '--title', 'Seats', '--email', 'ADA@example.org', '--value', '1.005'],
      ...['--currency', 'eur', '--pipeline', 'Sales', '--stage', 'qualified'],
    )
    expect(deal).toMatchObject({
      title: 'Seats',
      value: 1.01,
      currency: 'EUR',
      stage: 'Qualified',
      source: 'manual',
      email,
    })
    expect(Object.keys(deal)).toHaveLength(12)
    const byRow = await json('deals', 'create', '--title', 'B', '--list', 'Customers', '--row', deal.rowId)
    expect(byRow).toMatchObject({ rowId: deal.rowId, listId: deal.listId, email })
    expect(await json('deals', 'history', deal.id)).toEqual({
      history: [{ actor: 'cli:ada', from: null, to: deal.stageId, at: expect.any(Number) }],
    })
    expect(await types()).toEqual(['deal.created', 'deal.created'])
  })

  test('create names a missing flag and refuses what the API refuses', async () => {
    const create = (...more: string[]) => run('deals', 'create', ...more)
    expectFailure(await create(), 2, /Missing --title, --email/)
    expectFailure(await create('--title', 'x', '--email', 'nobody@example.org'), 3, /no such contact/)
    expectFailure(await create('--title', 'x', '--email', email, '--list', 'Customer'), 3, /no list Customer \(did you/)
    expectFailure(await create('--title', 'x', '--email', email, '--value', 'abc'), 2, /value must be a decimal amount/)
    expectFailure(
      await create('--title', 'x', '--email', email, '--currency', 'us'),
      2,
      /currency must be three letters/,
    )
    expectFailure(await create('--title', 'x', '--email', email, '--stage', 'None'), 3, /no stage None/)
    expect(await types()).toEqual([])
  })

  test('list filters by pipeline, stage, status and email, and pages', async () => {
    const ids: string[] = []
    for (const [i, stage] of ['New', 'Won', 'New'].entries()) ids.push(await newDeal(`Deal ${i}`, '--stage', stage))
    const list = async (...flags: string[]) =>
      (await json('deals', 'list', ...flags)).deals.map((d: { id: string }) => d.id)
    expect(await list()).toEqual(ids.toReversed())
    expect(await list('--stage', 'New')).toEqual([ids[2], ids[0]])
    expect(await list('--status', 'won')).toEqual([ids[1]])
    expect(await list('--pipeline', 'Sales', '--email', ' ADA@example.org')).toHaveLength(3)
    expect(await list('--email', 'bo@example.org')).toEqual([])
    const first = await json('deals', 'list', '--limit', '2')
    const next = await json('deals', 'list', '--limit', '2', '--cursor', first.nextCursor)
    expect([...first.deals, ...next.deals].map((d) => d.id)).toEqual(ids.toReversed())
    expect(next.nextCursor).toBeUndefined()
    expectFailure(await run('deals', 'list', '--status', 'sold'), 2, /status/)
    const plain = await run('deals', 'list', '--stage', 'Won')
    expect(plain.stdout).toBe(`${ids[1]}\tDeal 1\t0\tUSD\tWon\twon\t${email}\n`)
  })

  test('move takes several deals and a stage name; a repeated move changes nothing', async () => {
    const ids = [await newDeal('One'), await newDeal('Two'), await newDeal('Three', '--stage', 'Won')]
    const dry = await run('deals', 'move', ...ids, '--to', 'Won', '--dry-run')
    expect(dry.stderr).toBe(
      'Would move 2, unchanged 1, failed 0; 2 deal.stage_changed would fire. Nothing was changed.\n',
    )
    expect(dry.stdout.split('\n')[0]).toBe(`${ids[0]}\tOne\tNew\tWon\twon\tmoved`)
    expect((await types()).filter((type) => type === 'deal.stage_changed')).toEqual([])

    const moved = await json('deals', 'move', ...ids, '--to', 'won')
    expect(moved).toMatchObject({ moved: 2, unchanged: 1, failed: 0 })
    expect(moved.deals.map((deal: { status: string }) => deal.status)).toEqual(['won', 'won', 'won'])
    expect(await json('deals', 'move', ids[0]!, '--to', 'Won')).toMatchObject({ moved: 0, unchanged: 1 })
    const changed = await t.events(account.id, 'deal.stage_changed')
    expect(changed.map(({ data }) => [data.deal.id, data.fromStageId === data.deal.stageId])).toEqual([
      [ids[0], false],
      [ids[1], false],
    ])
  })

  test('move is exit 5 if some deals failed, and their own status if all failed', async () => {
    const id = await newDeal('One')
    const some = await run('deals', 'move', 'deal_none', id, '--to', 'Won', '--json')
    expect(some.status).toBe(5)
    expect(some.json).toMatchObject({ moved: 1, failed: 1 })
    expect(JSON.parse(some.stderr)).toEqual({
      error: expect.stringContaining('There is no deal'),
      hint: 'svc deals list',
    })
    expectFailure(await run('deals', 'move', 'deal_none', '--to', 'Won'), 3, /no deal deal_none/)
    expectFailure(await run('deals', 'move', id, '--to', 'Nowhere'), 3, /no stage Nowhere in Sales/)
    expectFailure(await run('deals', 'move', id), 2, /Missing --to/)
  })

  test('update applies all changes or none', async () => {
    const id = await newDeal('One')
    const updated = await json('deals', 'update', id, '--title', 'Uno', '--value', '7', '--stage', 'Proposal')
    expect(updated).toMatchObject({ id, title: 'Uno', value: 7, stage: 'Proposal' })
    expectFailure(await run('deals', 'update', id, '--title', 'Dos', '--value', '-1'), 2, /value/)
    expectFailure(await run('deals', 'update', id), 2, /at least one of --title/)
    expectFailure(await run('deals', 'update', 'deal_none', '--title', 'x'), 3, /no deal deal_none/)
    expect(await json('deals', 'show', id)).toEqual(updated)
    const history = await run('deals', 'history', id)
    expect(history.stdout.split('\n').map((line) => line.split('\t').slice(1))).toEqual([
      ['cli:ada', '', 'New'],
      ['cli:ada', 'New', 'Proposal'],
      [],
    ])
  })

  test('delete removes the deal and its history, fires nothing, and asks first', async () => {
    const [id, other] = [await newDeal('One'), await newDeal('Two')]
    await json('deals', 'move', id, '--to', 'Proposal')
    const before = await types()
    const dry = await run('deals', 'delete', id, '--dry-run', '--json')
    expect(dry.json).toEqual({ dryRun: true, id, title: 'One', email, stage: 'Proposal' })
    expect(dry.stderr).toContain(`delete the deal One (${email}, Proposal) with its history; no event fires`)
    expectFailure(await run('deals', 'delete', id), 2, /needs --yes/)
    expect((await json('deals', 'history', id)).history).toHaveLength(2)
    expect(await json('deals', 'delete', id, '--yes')).toEqual({ id, title: 'One' })
    expectFailure(await run('deals', 'show', id), 3, /no deal/)
    expectFailure(await run('deals', 'delete', id, '--yes'), 3, /no deal/)
    expect((await json('deals', 'list')).deals.map((deal: { id: string }) => deal.id)).toEqual([other])
    const rows = await t.app.sql<{ id: string }>('select deal_id as id from deal_history where account_id = $1', [
      account.id,
    ])
    expect(rows).toEqual([{ id: other }])
    expect(await types()).toEqual(before)
  })

  test('delete finds no deal of another account', async () => {
    const id = await newDeal('One')
    const stranger = await t.account()
    const ran = await svc(t, ['deals', 'delete', id, '--yes', '--account', stranger.id])
    expectFailure(ran, 3, /no deal/)
    expect(await json('deals', 'show', id)).toMatchObject({ id })
  })

  test('board prints rows into a pipe, and pipeline and stages with their deals with --json', async () => {
    const ids = [
      await newDeal('One', '--value', '10.5'),
      await newDeal('Two', '--value', '0.7'),
      await newDeal('Three'),
    ]
    await json('deals', 'move', ids[2]!, '--to', 'Lost')
    const board = await json('deals', 'board')
    expect(board.pipeline).toMatchObject({ name: 'Sales', isDefault: true })
    expect(board.stages.map((stage: { name: string; count: number }) => [stage.name, stage.count])).toEqual([
      ['New', 2],
      ['Qualified', 0],
      ['Proposal', 0],
      ['Won', 0],
      ['Lost', 1],
    ])
    expect(board.stages[0].totals).toEqual({ USD: 11.2 })
    expect(board.stages[0].deals).toEqual([await json('deals', 'show', ids[1]!), await json('deals', 'show', ids[0]!)])
    const plain = await run('deals', 'board')
    expect(plain.stdout.split('\n')[0]).toBe(`New\t${ids[1]}\tTwo\t0.7\tUSD\t${email}`)
    expect((await run('deals', 'board', '-q')).stdout.split('\n')).toEqual([ids[1], ids[0], ids[2], ''])
  })
})

describe('the board in a terminal', () => {
  const stage = (name: string, kind: 'open' | 'won', titles: string[], count = titles.length) => ({
    id: `stg_${name}`,
    name,
    kind,
    count,
    totals: { EUR: 1, USD: 1234.5 },
    deals: titles.map((title) => ({ title, value: 1234.5, currency: 'USD', email })),
  })
  const stages = [
    stage('New', 'open', ['Short', 'A very long title that does not fit into any column'], 9),
    stage('見積もり', 'open', ['株式会社大和証券グループ本社の年間契約', '👩‍👩‍👧 family', 'bad\u001b[31mred\nline']),
    stage('Won', 'won', []),
  ]
  const board = { pipeline: { name: 'Sales', stages }, stages } as unknown as Board
  /** Terminal cells, as common terminals count them. */
  const cells = (line: string) =>
    [...new Intl.Segmenter().segment(line)].reduce(
      (sum, { segment }) => sum + (/[\u3000-\u9fff]|\p{Emoji_Presentation}/u.test(segment) ? 2 : 1),
      0,
    )

  test.each([40, 60, 80, 200])('no line is wider than %d cells, and columns are aligned', (width) => {
    const lines = drawBoard(board, width)
    for (const line of lines) expect(cells(line), line).toBeLessThanOrEqual(width)
    expect(lines.join('\n')).not.toContain('\u001b')
  })

  test('shows each stage’s count and sums, cut titles, and the number of deals that are not shown', () => {
    const text = drawBoard(board, 80).join('\n')
    expect(text).toMatch(/^9 deals +3 deals +0 deals$/m)
    expect(text).toMatch(/^1.00 EUR +1.00 EUR +1.00 EUR$/m)
    expect(text).toMatch(/^1,234.50 USD +1,234.50 USD +1,234.50 USD$/m)
    expect(text).toContain('A very long title that d…')
    expect(text).toContain('… 7 more')
    expect(text).toContain('Won (won)')
  })
})

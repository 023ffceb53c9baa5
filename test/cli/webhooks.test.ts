import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emit } from '../../src/events/emit.ts'
import { eventTypes } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { WebhookEventShape } from '../../src/events/shapes.ts'
import { verify } from '../../src/lib/signature.ts'
import { holdQueues, releaseQueues } from '../../src/queue/holds.ts'
import { tryWebhook } from '../../src/webhooks/webhooks.try.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Ran, svc } from '../support/cli.ts'
import { endPending, startDeliveries } from '../support/deliveries.ts'
import { useReceiver } from '../support/receiver.ts'

let account: TestAccount
let folder: string

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const receiver = useReceiver()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-webhooks-'))
})
beforeEach(async () => {
  account = await t.account()
  receiver.requests.length = 0
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (...args: string[]) => svc(t, [...args, '--account', account.id])
const json = async (...args: string[]) => {
  const ran = await run(...args, '--json')
  expect(ran.stderr).not.toMatch(/^error|^\{"error/)
  return ran.json
}

const subscribe = async (events = 'contact.created') =>
  (await json('webhooks', 'create', '--url', `${receiver.url}/hook`, '--events', events)).id as string

const created = (count: number) => {
  const { contact } = sampleEvent('contact.created', { now: Date.now() }).data
  return t.app.work(account.id, 'cli:test', (work) =>
    emit(work, 'contact.created', () => Array.from({ length: count }, () => ({ contact }))),
  )
}
const deliveryIds = async () =>
  (await t.app.sql<{ id: string }>('select id from deliveries where account_id = $1 order by id', [account.id])).map(
    (row) => row.id,
  )
const exhaust = () => endPending(t.app, account.id, 'exhausted')
const statuses = async () =>
  (
    await t.app.sql<{ status: string }>('select status from deliveries where account_id = $1 order by id', [account.id])
  ).map((row) => row.status)

/** The convention of every command: a failure leaves stdout empty and explains the error on stderr. */
const expectFailure = (ran: Ran, status: number, error: RegExp) => {
  expect(ran.stderr).toMatch(error)
  expect([ran.status, ran.stdout]).toEqual([status, ''])
}

const colour = '\u001b'

describe('svc webhooks', () => {
  test('create shows the secret once, on stdout, with the reminder on stderr', async () => {
    const ran = await run(
      'webhooks',
      'create',
      '--url',
      `${receiver.url}/hook`,
      '--events',
      'lead.hot, contact.created',
      '--json',
    )
    expect([ran.status, ran.stderr]).toEqual([0, 'Save the secret now: it is not shown again.\n'])
    expect(ran.json).toEqual({
      id: expect.stringMatching(/^whk_/),
      secret: expect.stringMatching(/^whsec_/),
      subscription: {
        id: ran.json.id,
        url: `${receiver.url}/hook`,
        events: ['contact.created', 'lead.hot'],
        createdVia: 'dashboard',
        status: 'active',
        createdAt: expect.any(Number),
      },
    })
    const { secret, subscription } = ran.json
    const listed = await run('webhooks', '--json')
    expect(listed.json).toEqual({ webhooks: [subscription] })
    const shown = await run('webhooks', 'show', subscription.id, '--json')
    expect(shown.json).toEqual(subscription)
    for (const { stdout, stderr } of [listed, shown]) expect(stdout + stderr).not.toContain(secret)
  })

  test('list prints tab-separated rows into a pipe, without colour, and ids with -q', async () => {
    const id = await subscribe()
    const { stdout } = await run('webhooks', 'list')
    expect(stdout.split('\n')[0]!.split('\t').slice(0, 4)).toEqual([
      id,
      `${receiver.url}/hook`,
      'contact.created',
      'active',
    ])
    expect(stdout).not.toContain(colour)
    expect((await run('webhooks', '-q')).stdout).toBe(`${id}\n`)
  })

  test('create names every missing flag and refuses what the API refuses', async () => {
    expectFailure(await run('webhooks', 'create'), 2, /^error: Missing --url, --events\n/)
    const bad = (url: string, events: string, ...more: string[]) =>
      run('webhooks', 'create', '--url', url, '--events', events, ...more)
    expectFailure(
      await bad(receiver.url, 'lead.cold'),
      2,
      /^error: events\[0\] is not an event type: "lead.cold" \(did you mean lead\.hot\?\)\n {2}next: svc webhooks create --help\n$/,
    )
    expectFailure(
      await bad('http://10.0.0.1/', 'lead.hot', '--json'),
      2,
      /^\{"error":"url must be a public http or https/,
    )
  })

  test('an unknown id is exit 3 for every verb', async () => {
    for (const verb of [['show'], ['delete', '--yes'], ['enable'], ['disable'], ['rotate-secret'], ['test']]) {
      const [name, ...flags] = verb as [string, ...string[]]
      expectFailure(
        await run('webhooks', name, 'whk_none', ...flags),
        3,
        /^error: There is no webhook whk_none\n {2}next: svc/,
      )
    }
  })

  test('delete shows the number of deliveries to cancel, needs --yes in a pipe, and cancels them', async () => {
    const id = await subscribe()
    await created(3)
    const dry = await run('webhooks', 'delete', id, '--dry-run')
    expect([dry.status, dry.stderr]).toEqual([
      0,
      expect.stringContaining('cancel its pending deliveries (3). Nothing was changed.'),
    ])
    expectFailure(await run('webhooks', 'delete', id), 2, /needs --yes/)
    expect(await statuses()).toEqual(['pending', 'pending', 'pending'])
    expect(await json('webhooks', 'delete', id, '--yes')).toEqual({ ok: true, id, cancelled: 3 })
    expect(await statuses()).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(await json('webhooks', 'list')).toEqual({ webhooks: [] })
  })

  test('update changes URL or events and checks them as create does', async () => {
    const id = await subscribe('contact.created')
    const changed = await json('webhooks', 'update', id, '--events', 'lead.new, lead.hot')
    expect(changed).toMatchObject({ id, url: `${receiver.url}/hook`, events: ['lead.hot', 'lead.new'] })
    const url = `${receiver.url}/other`
    const planned = await run('webhooks', 'update', id, '--url', url, '--dry-run', '--json')
    expect(planned.json).toMatchObject({ id, pending: 0, change: { url } })
    expect(await json('webhooks', 'show', id)).toEqual(changed)
    expect(await json('webhooks', 'update', id, '--url', url, '--yes')).toEqual({ ...changed, url })
    for (const how of ['--dry-run', '--yes']) {
      expectFailure(await run('webhooks', 'update', id, '--url', 'nowhere', how), 2, /^error: url must be an absolute/)
      expectFailure(await run('webhooks', 'test', id, '--timeout', 'soon', how), 2, /^error: "soon" is not a duration/)
    }
    expectFailure(await run('webhooks', 'update', id), 2, /^error: Name what changes: url or events\n/)
    expectFailure(await run('webhooks', 'update', id, '--events', 'lead.cold'), 2, /lead\.cold/)
    expectFailure(await run('webhooks', 'update', id, '--url', 'http://10.0.0.1/'), 2, /public/)
    expectFailure(
      await run('webhooks', 'update', 'whk_none', '--events', 'lead.new'),
      3,
      /^error: There is no webhook whk_none\n/,
    )
  })

  test('a webhook that an operator disabled has no reason and is shown as paused', async () => {
    const id = await subscribe()
    await run('webhooks', 'disable', id)
    const [webhook] = (await json('webhooks', 'list')).webhooks
    expect(webhook).toMatchObject({ id, status: 'disabled' })
    expect(webhook).not.toHaveProperty('disabledReason')
    expect((await run('webhooks', 'list')).stdout.split('\t')[3]).toBe('paused')
    expect((await run('webhooks', 'show', id)).stdout).toMatch(/^status\tpaused$/m)
    await t.app.sql(`update delivery_targets set disabled_reason = 'gone' where id = $1`, [id])
    expect((await run('webhooks', 'list')).stdout.split('\t')[3]).toBe('disabled')
  })

  test('disable and enable stop and resume a webhook', async () => {
    const id = await subscribe()
    await created(1)
    const off = await run('webhooks', 'disable', id, '--json')
    expect(off.json).toMatchObject({ id, status: 'disabled' })
    expect(off.stderr).toContain('Cancelled its pending deliveries (1)')
    expect(await json('webhooks', 'enable', id)).toMatchObject({ id, status: 'active' })
  })

  test('rotate-secret shows a new secret once and seals it', async () => {
    const { id, secret } = await json('webhooks', 'create', '--url', receiver.url, '--events', 'lead.hot')
    const rotated = await json('webhooks', 'rotate-secret', id)
    expect(rotated).toMatchObject({ id, subscription: { id } })
    expect(rotated.secret).not.toBe(secret)
    const [row] = await t.app.sql<{ sealed: string }>(
      'select sealed_secret as sealed from delivery_targets where id = $1',
      [id],
    )
    expect(t.app.box.open(row!.sealed, id)).toBe(rotated.secret)
  })

  test('rotate-secret --overlap says until when the old secret signs, and a dry run changes nothing', async () => {
    const id = await subscribe()
    const former = () =>
      t.app.sql('select former_sealed_secret, former_secret_until from delivery_targets where id = $1', [id])
    const dry = await json('webhooks', 'rotate-secret', id, '--overlap', '24h', '--dry-run')
    expect(dry).toMatchObject({ dryRun: true, id, oldSecretUntil: expect.any(Number) })
    expect(await former()).toEqual([{ former_sealed_secret: null, former_secret_until: null }])
    const { oldSecretUntil } = await json('webhooks', 'rotate-secret', id, '--overlap', '24h')
    expect(oldSecretUntil).toBeGreaterThanOrEqual(dry.oldSecretUntil)
    expect((await json('webhooks', 'show', id)).oldSecretUntil).toBe(oldSecretUntil)
    expectFailure(await run('webhooks', 'rotate-secret', id, '--overlap', '31d'), 2, /overlap must be from 1s to 30d/)
    const { stdout } = await run('webhooks', 'rotate-secret', id, '--overlap', '24h')
    expect(stdout).toMatch(/^oldSecretUntil\t\d{4}-\d\d-\d\dT[\d:.]+Z$/m)
    await json('webhooks', 'rotate-secret', id)
    expect(await json('webhooks', 'show', id)).not.toHaveProperty('oldSecretUntil')
  })

  test('test waits for the answer to a sample, and fails unless it is 2xx', async () => {
    startDeliveries(t.app)
    const id = await subscribe()
    receiver.next({ status: 202, body: 'thanks' })
    const ran = await run('webhooks', 'test', id, '--type', 'deal.created', '--json')
    expect([ran.status, ran.json]).toEqual([
      0,
      expect.objectContaining({
        webhookId: id,
        type: 'deal.created',
        status: 'delivered',
        attempts: 1,
        lastStatus: 202,
        lastError: null,
        ms: expect.any(Number),
        answer: 'thanks',
      }),
    ])
    expect(ran.stderr).toBe(`  next: svc deliveries show ${ran.json.id}\n`)
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({
      type: 'deal.created',
      data: { test: true },
    })
    expect(await run('webhooks', 'test', id)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^→ 200 in \d+ ms\n$/),
    })
    receiver.next({ status: 503 })
    const refused = await run('webhooks', 'test', id)
    expect([refused.status, refused.stdout, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^→ 503 in \d+ ms\n$/),
      expect.stringMatching(/^error: answered 503\n {2}next: svc deliveries show dlv_/),
    ])
    receiver.next({ status: 503 })
    const asJson = await run('webhooks', 'test', id, '--json')
    expect([asJson.status, JSON.parse(asJson.stderr)]).toEqual([
      1,
      { error: 'answered 503', hint: `svc deliveries show ${asJson.json.id}` },
    ])
    expectFailure(await run('webhooks', 'test', id, '--type', 'x'), 2, /is not an event type: "x"/)
    expectFailure(await run('webhooks', 'test', id, '--timeout', 'x'), 2, /^error: "x" is not a duration/)
    await run('webhooks', 'disable', id)
    expectFailure(await run('webhooks', 'test', id), 6, /is disabled/)
  })

  test('test sends nothing while no daemon delivers, or the queue is paused', async () => {
    const id = await subscribe()
    expectFailure(await run('webhooks', 'test', id), 7, /^error: No daemon runs the jobs .*\n {2}next: svc dev/)
    startDeliveries(t.app)
    await holdQueues(t.app.sql, ['deliveries'])
    expectFailure(await run('webhooks', 'test', id), 6, /paused.*\n {2}next: svc queues resume deliveries/)
    await releaseQueues(t.app.sql, ['deliveries'])
    expect(await deliveryIds()).toEqual([])
  })

  test('test sends nothing if it is interrupted while it looks for a daemon', async () => {
    const id = await subscribe()
    const tried = (signal: AbortSignal) =>
      tryWebhook(t.app, { accountId: account.id, actor: 'cli:test', id }, { limitMs: 1000, signal })
    expect(await tried(AbortSignal.abort())).toBeNull()
    startDeliveries(t.app)
    expect(await tried(AbortSignal.abort())).toBeNull()
    expect(await deliveryIds()).toEqual([])
  })

  test('test gives up after --timeout, and names the delivery', async () => {
    startDeliveries(t.app)
    const id = await subscribe()
    await t.app.sql(`update delivery_targets set quiet_until = now() + interval '1 h' where id = $1`, [id])
    const ran = await run('webhooks', 'test', id, '--timeout', '1s')
    const [delivery] = await deliveryIds()
    expectFailure(ran, 7, new RegExp(`^error: .*no attempt yet\n {2}next: svc deliveries show ${delivery}\n$`))
  })
})

describe('svc events', () => {
  // No database, no secret: these commands must not need one.
  const alone = (args: string[], stdin?: string) =>
    svc({ env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' } }, args, stdin === undefined ? {} : { stdin })

  test('types lists the twelve event types and when they fire', async () => {
    const { json } = await alone(['events', 'types', '--json'])
    expect(json.types.map(({ type }: { type: string }) => type)).toEqual(eventTypes)
    expect((await alone(['events', 'types'])).stdout.split('\n')).toHaveLength(13)
  })

  test('sample prints one of each, or the body of one, never marked as a test', async () => {
    const all = (await alone(['events', 'sample', '--json'])).json.events
    expect(all.map((event: unknown) => WebhookEventShape.parse(event).type)).toEqual(eventTypes)
    const { stdout } = await alone(['events', 'sample', 'lead.new'])
    expect(WebhookEventShape.parse(JSON.parse(stdout)).type).toBe('lead.new')
    expectFailure(await alone(['events', 'sample', 'x']), 2, /is not an event type/)
  })

  test('list and show print delivered events', async () => {
    await subscribe()
    await created(2)
    const { events, nextCursor } = await json('events', 'list', '--limit', '1')
    expect(events).toHaveLength(1)
    expect((await json('events', 'list', '--cursor', nextCursor)).events).toHaveLength(1)
    expect(await json('events', 'show', events[0].id)).toEqual(events[0])
    expect((await json('events', 'list', '--type', 'lead.hot')).events).toEqual([])
    expectFailure(await run('events', 'show', 'evt_none'), 3, /There is no event evt_none/)
    expectFailure(await run('events', 'list', '--cursor', 'x'), 2, /^error: cursor is not valid\n/)
    expectFailure(
      await run('events', 'list', '--limit', '1001'),
      2,
      /^error: --limit must be a whole number from 1 to 1000\n/,
    )
    expectFailure(await run('events', 'list', '--since', 'monday'), 2, /^error: since must be an age such as 2h/)
  })

  test('send posts a signed sample with test: true inside data and prints status and time', async () => {
    receiver.next({ status: 204 })
    const ran = await alone(['events', 'send', 'deal.created', '--to', `${receiver.url}/hook`])
    expect(ran.status).toBe(0)
    expect(ran.stdout).toMatch(/^→ 204 in \d+ ms\n$/)
    const secret = /whsec_\S+/.exec(ran.stderr)![0]
    const [request] = receiver.requests
    expect(verify(secret, request!.headers, request!.body, Date.now())).toBe('ok')
    const { data, ...event } = JSON.parse(String(request!.body))
    const { test: mark, ...plain } = data
    expect(mark).toBe(true)
    expect(WebhookEventShape.safeParse({ ...event, data: plain }).success).toBe(true)
    expect(request!.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-idempotency-key': event.id,
    })
  })

  test('send takes the secret from stdin or a file and never prints it', async () => {
    const secret = 'whsec_of-the-operator'
    const file = join(folder, 'secret')
    await writeFile(file, `${secret}\n`)
    for (const [from, stdin] of [
      ['-', secret],
      [file, undefined],
    ] as const) {
      const ran = await alone(['events', 'send', 'lead.hot', '--to', receiver.url, '--secret-file', from], stdin)
      expect([ran.status, ran.stderr]).toEqual([0, ''])
      expect(ran.stdout).not.toContain(secret)
      const request = receiver.requests.at(-1)!
      expect(verify(secret, request.headers, request.body, Date.now())).toBe('ok')
    }
  })

  test('send changes values by path and takes data from a file, and keeps the test mark', async () => {
    const set = ['--set', 'data.deal.value=9', '--set', 'data.deal.title=A = b']
    await alone(['events', 'send', 'deal.created', '--to', receiver.url, ...set])
    expect(JSON.parse(String(receiver.requests[0]!.body)).data).toMatchObject({
      test: true,
      deal: { value: 9, title: 'A = b' },
    })
    await alone(['events', 'send', 'deal.created', '--to', receiver.url, '--data', '@-'], '{"deal":{"id":"deal_1"}}')
    expect(JSON.parse(String(receiver.requests[1]!.body)).data).toEqual({ deal: { id: 'deal_1' }, test: true })
  })

  test('send fails unless the answer is 2xx, and prints the answer', async () => {
    receiver.next({ status: 500 }, { status: 302, headers: { location: '/' } })
    const failed = await alone(['events', 'send', 'lead.hot', '--to', receiver.url])
    expect([failed.status, failed.stdout]).toEqual([1, expect.stringMatching(/^→ 500 in \d+ ms\n$/)])
    expect(failed.stderr).toContain('error: answered 500')
    const redirected = await alone(['events', 'send', 'lead.hot', '--to', receiver.url, '--json'])
    expect(redirected.status).toBe(1)
    expect(redirected.json).toMatchObject({
      status: 302,
      ms: expect.any(Number),
      error: 'answered 302, redirect not followed',
    })
    expect(JSON.parse(redirected.stderr.trim().split('\n').at(-1)!)).toEqual({
      error: 'answered 302, redirect not followed',
      hint: 'svc events sample lead.hot',
    })
    const refused = await alone(['events', 'send', 'lead.hot', '--to', 'http://127.0.0.1:1/', '--json'])
    expect([refused.status, refused.json.status, refused.json.error]).toEqual([1, null, 'connection refused'])
    expect(receiver.requests).toHaveLength(2)
  })

  test('send gives up after 5 s', async () => {
    receiver.next({ mode: 'hang' })
    const ran = await alone(['events', 'send', 'lead.hot', '--to', receiver.url, '--json'])
    expect([ran.status, ran.json.error]).toEqual([1, 'timed out after 5 s'])
  })

  test.each([
    [['--to', 'ftp://127.0.0.1/'], /^error: --to must be an http or https address/],
    [[], /^error: Missing --to/],
    [['--to', 'http://127.0.0.1:1/', '--set', 'data.nothing=1'], /^error: The sample has no data.nothing/],
    [['--to', 'http://127.0.0.1:1/', '--set', 'data'], /^error: --set takes path=value/],
    [['--to', 'http://127.0.0.1:1/', '--data', '{'], /^error: --data is not valid JSON/],
    [['--to', 'http://127.0.0.1:1/', '--data', '@-'], /^error: The file of --data is not valid JSON/],
    [
      ['--to', 'http://127.0.0.1:1/', '--secret-file', '/nowhere/x'],
      /^error: --secret-file names a file that can't be read/,
    ],
    [['--to', 'http://127.0.0.1:1/', '--secret-file', '-'], /^error: --secret-file holds no secret/],
    [['--to', 'http://127.0.0.1:1/', '--secret-file', '-', '--data', '@-'], /^error: Only one of/],
  ])('send %j is exit 2', async (flags, error) => {
    expectFailure(await alone(['events', 'send', 'deal.created', ...flags]), 2, error)
  })
})

describe('svc deliveries', () => {
  test('list filters and pages; into a pipe it prints plain rows', async () => {
    const id = await subscribe()
    await created(3)
    const ids = await deliveryIds()
    const page = await json(
      'deliveries',
      'list',
      '--status',
      'pending',
      '--webhook',
      id,
      '--since',
      '1h',
      '--limit',
      '2',
    )
    expect(page.deliveries.map((row: { id: string }) => row.id)).toEqual(ids.toReversed().slice(0, 2))
    const next = await json('deliveries', '--limit', '2', '--cursor', page.nextCursor)
    expect(next).toEqual({ deliveries: [expect.objectContaining({ id: ids[0], status: 'pending', attempts: 0 })] })
    const { stdout, stderr } = await run('deliveries', 'list', '--type', 'contact.created')
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t').slice(0, 3)),
    ).toEqual(ids.toReversed().map((row) => [row, 'contact.created', 'pending']))
    expect([stdout.includes(colour), stderr]).toEqual([false, ''])
    expect(
      (await run('deliveries', '--jsonl')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(ids.toReversed())
    expectFailure(
      await run('deliveries', 'list', '--status', 'failed'),
      2,
      /^error: status must be one of pending, delivered/,
    )
    expectFailure(
      await run('deliveries', 'show', 'dlv_none', '--json'),
      3,
      /^\{"error":"There is no delivery dlv_none","hint"/,
    )
  })

  test('replay by id delivers again', async () => {
    await subscribe()
    await created(1)
    await exhaust()
    const [id] = await deliveryIds()
    expect(await json('deliveries', 'replay', id!)).toEqual({ replayed: 1, leftOut: 0 })
    expect(await statuses()).toEqual(['pending'])
    expectFailure(await run('deliveries', 'replay', 'dlv_none'), 3, /There is no delivery dlv_none/)
  })

  test('replay by filter shows the count first, and spreads by its rate', async () => {
    const webhook = await subscribe()
    await created(5)
    await exhaust()
    const filter = ['--status', 'exhausted', '--webhook', webhook]
    const dry = await run('deliveries', 'replay', ...filter, '--dry-run', '--json')
    expect([dry.status, dry.json]).toEqual([0, { dryRun: true, matched: 5, leftOut: 0 }])
    expect(dry.stderr).toContain('Would replay 5 deliveries: each is posted again. Nothing was changed.')
    expect(await statuses()).toEqual(Array(5).fill('exhausted'))
    expectFailure(await run('deliveries', 'replay', ...filter), 2, /would replay 5 deliveries: .*: it needs --yes/)
    expect(await statuses()).toEqual(Array(5).fill('exhausted'))
    expect(await json('deliveries', 'replay', ...filter, '--rate', '0.5', '--yes')).toEqual({ replayed: 5, leftOut: 0 })
    const rows = await t.app.sql<{ wait: number }>(
      'select extract(epoch from due_at - min(due_at) over ())::int as wait from deliveries where account_id = $1 order by due_at',
      [account.id],
    )
    expect(rows.map((row) => row.wait)).toEqual([0, 2, 4, 6, 8])
    expect(await json('deliveries', 'replay', ...filter)).toEqual({ replayed: 0, leftOut: 0 })
  })

  test('replay of a delivery whose webhook is deleted or disabled is exit 6; in bulk it is left out, exit 5', async () => {
    const gone = await subscribe()
    await created(1)
    await exhaust()
    await run('webhooks', 'delete', gone, '--yes')
    const [id] = await deliveryIds()
    expectFailure(
      await run('deliveries', 'replay', id!),
      6,
      /^error: Nothing can be replayed: the webhook of this delivery is gone or disabled\n/,
    )
    await subscribe()
    await created(2)
    await exhaust()
    const ran = await run('deliveries', 'replay', '--status', 'exhausted', '--yes', '--json')
    expect([ran.status, ran.json]).toEqual([5, { replayed: 2, leftOut: 1 }])
    expect((await statuses()).sort()).toEqual(['exhausted', 'pending', 'pending'])
  })

  test('replay and cancel take either ids or a filter', async () => {
    for (const [verb, filters] of [
      ['replay', '--status, --webhook, --type or --since'],
      ['cancel', '--webhook, --type or --since'],
    ] as const) {
      const named = new RegExp(`^error: Name deliveries by id, or by ${filters}\n`)
      expectFailure(await run('deliveries', verb), 2, named)
      expectFailure(
        await run('deliveries', verb, 'dlv_1', '--type', 'lead.hot'),
        2,
        /^error: Name deliveries by id or by a filter/,
      )
    }
    expectFailure(
      await run('deliveries', 'replay', '--type', 'lead.hot', '--rate', '0'),
      2,
      /--rate must be a number.*\n {2}next: svc deliveries replay --help\n/,
    )
  })

  test('cancel ends pending deliveries; an unknown id counts as left out', async () => {
    const webhook = await subscribe()
    await created(3)
    const [first, ...others] = await deliveryIds()
    expect(await json('deliveries', 'cancel', first!)).toEqual({ cancelled: 1, leftOut: 0 })
    expectFailure(await run('deliveries', 'cancel', first!), 6, /^error: Nothing to cancel/)
    const some = await run('deliveries', 'cancel', first!, others[0]!, '--json')
    expect([some.status, some.json]).toEqual([5, { cancelled: 1, leftOut: 1 }])
    expectFailure(await run('deliveries', 'cancel', '--webhook', webhook), 2, /would cancel 1 delivery: it needs --yes/)
    expect(await json('deliveries', 'cancel', '--webhook', webhook, '--yes')).toEqual({ cancelled: 1, leftOut: 0 })
    expect(await statuses()).toEqual(['cancelled', 'cancelled', 'cancelled'])
  })

  test('stats counts by state and webhook', async () => {
    const id = await subscribe()
    await created(2)
    const stats = await json('deliveries', 'stats')
    expect(stats).toMatchObject({
      pending: 2,
      delivered: 0,
      exhausted: 0,
      cancelled: 0,
      oldestDueAt: expect.any(Number),
    })
    expect(stats.webhooks).toMatchObject([{ id, url: `${receiver.url}/hook`, pending: 2 }])
    expect((await run('deliveries', 'stats')).stdout.split('\t').slice(0, 3)).toEqual([id, `${receiver.url}/hook`, '2'])
  })
})

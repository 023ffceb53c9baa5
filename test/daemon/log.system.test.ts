import { afterAll, beforeAll, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { advanceClock } from '../../src/store/clock.ts'
import { type Reply, type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { deliveriesOf, emitEvents, eventually, subscribe } from '../support/deliveries.ts'
import { journeyBench } from '../support/journeys.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { useReceiver } from '../support/receiver.ts'
import { useSink } from '../support/smtp.ts'

let account: TestAccount
let daemon: Daemon

const sink = useSink()
const t = useApp(() => ({
  env: {
    SVC_SMTP_URL: sink.url.replace('//', '//mailer:relay-password@'),
    SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8',
  },
  development: true,
}))
const receiver = useReceiver()
beforeAll(async () => {
  account = await sendingAccount(t)
  daemon = await startDaemon(t, { env: { SVC_LOG_LEVEL: 'trace' } })
})
afterAll(() => daemon.stop())

interface Line {
  level: number
  msg: string
  [property: string]: unknown
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a log line has no escape sequence
const isLog = (line: string) => /^\{.*\}$/.test(line) && !/\u001b/.test(line)
const logged = (of: Daemon): Line[] =>
  of
    .log()
    .split('\n')
    .filter(isLog)
    .map((line) => JSON.parse(line))

const call = async (
  method: string,
  path: string,
  body?: unknown,
  key = account.key,
): Promise<Omit<Reply, 'headers'>> => {
  const reply = await fetch(daemon.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await reply.text()
  return { status: reply.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

test('each request is one line with route, status, ms, account and key id, without secrets, bodies and addresses', async () => {
  const { id: listId } = await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'L' }))
  // The letters i, l, o and u are not in ids, which are random.
  const person = { listId, email: 'louise@private.example', fields: { city: 'Zanzibar-77' } }
  const hook = { url: 'https://example.com/hook?token=hook-token', events: ['contact.created'] }
  const wrong = 'svc_live_WrongWrongWrongWrongWrongWrongWrongWrong123'
  const { secret } = (await call('POST', '/api/v1/webhooks', hook)).body as { secret: string }
  expect(secret).toMatch(/^whsec_/)
  const statuses = [
    await call('POST', '/api/v1/contacts', person),
    await call('GET', '/api/v1/contacts?email=louise%40private.example'),
    await call('GET', '/api/v1/contacts?email=louise@private.example', undefined, wrong),
    await call('POST', '/api/v1/contacts', '{"listId":"Zanzibar-77'),
    await call('POST', '/api/v1/send', { to: person.email, subject: 'Zanzibar-77', html: 'Zanzibar-77', text: 'x' }),
    await call('GET', '/u/secret-token-of-a-link?email=louise@private.example'),
    await call('GET', '/louise@private.example?key=Zanzibar-77'),
  ].map(({ status }) => status)
  expect(statuses).toEqual([201, 200, 401, 400, 200, 404, 404])

  // Unexpected errors whose text quotes the request.
  await t.app.sql(`create function boom() returns trigger language plpgsql as $$ begin
    if new.email like 'int%' then perform (new.fields ->> 'city')::int; end if;
    raise exception 'no room for % (%)', new.email, new.fields -> 'none' using detail = 'Zanzibar-77'; end $$`)
  await t.app.sql('create trigger boom before insert on contacts for each row execute function boom()')
  for (const email of ['noor@private.example', 'int@private.example'])
    expect((await call('POST', '/api/v1/contacts', { ...person, email })).status).toBe(500)
  await t.app.sql('drop trigger boom on contacts')

  const requests = () => logged(daemon).filter(({ msg, route }) => msg === 'request' && route !== '/readyz')
  await expect.poll(() => requests().length).toBe(10)
  const keyed = { account: account.id, key: account.keyId }
  expect(requests()[1]).toMatchObject({ method: 'POST', route: '/api/v1/contacts', status: 201, ...keyed })
  expect(requests()[1]!.ms).toBeGreaterThan(0)
  expect(requests()[2]).toMatchObject({ method: 'GET', route: '/api/v1/contacts', status: 200, ...keyed })
  expect(requests()[3]).toMatchObject({ status: 401 })
  expect(requests()[3]).not.toHaveProperty('key')
  expect(
    requests()
      .map(({ route }) => route)
      .slice(6, 8),
  ).toEqual(['/u/:token', null])
  const faults = logged(daemon).filter(({ level, job }) => level >= 50 && !job)
  expect(faults.map(({ err }) => (err as { message: string }).message)).toEqual([
    'no room for … (<NULL>)',
    'invalid input syntax for type integer: "…"',
  ])

  const log = daemon.log()
  for (const text of ['louise', 'noor', 'private.example', 'Zanzibar', 'hook-token', 'relay-password', 'secret-token'])
    expect(log, text).not.toContain(text)
  for (const text of [account.key, wrong, secret, t.env.SVC_SECRET!, '?', 'remoteAddress', '@'])
    expect(log, text).not.toContain(text)
})

test('everything that a daemon writes to a pipe is JSON, including the line that it is ready', async () => {
  const other = await startDaemon(t, { env: { SVC_LOG_LEVEL: 'info' } })
  await expect.poll(other.log).toContain('svc is ready')
  await other.stop()
  const lines = other.log().trimEnd().split('\n')
  expect(lines.filter((line) => !isLog(line))).toEqual([])
  expect(lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'svc is ready')).toMatchObject({
    level: 30,
    url: other.url,
  })
})

const jobsOf = async ({ url }: Daemon) => {
  const reply = await fetch(`${url}/readyz`)
  const body = (await reply.json()) as { status: string; jobs: Record<string, string> }
  expect([reply.status, body.status]).toEqual([200, 'ready'])
  return body.jobs
}

test('failing reminders are reported and retried, and the job continues with other messages', async () => {
  const reports = async () => {
    await t.app.sql(`select pg_notify('svc_clock', '')`)
    return logged(daemon).filter(({ level, job, err }) => {
      return level >= 50 && job === 'mail' && /webinar_registrations/.test((err as { message: string }).message)
    }).length
  }
  await t.app.sql('alter table webinar_registrations rename to elsewhere')
  await expect.poll(reports, { interval: 100 }).toBeGreaterThan(1)
  const before = sink.mails.length
  await queueMany(t.app, account.id, 3)
  await expect.poll(() => sink.mails.length).toBe(before + 3)
  expect(new Set(Object.values(await jobsOf(daemon)))).toEqual(new Set(['ok']))
  expect(logged(daemon).filter(({ msg }) => msg === 'job failed')).toEqual([])
  await t.app.sql('alter table elsewhere rename to webinar_registrations')
})

test('an unexpected error of a delivery is logged with its id', async () => {
  const { id: accountId } = await t.account()
  await subscribe(t.app, accountId, receiver.url)
  await t.app.sql(`create function refuse() returns trigger language plpgsql as $$ begin
    if new.account_id = '${accountId}' then raise 'refused'; end if; return new; end $$`)
  await t.app.sql('create trigger refuse before insert on ended_deliveries for each row execute function refuse()')
  await emitEvents(t.app, accountId)
  const [{ id } = { id: '' }] = await deliveriesOf(t.app, accountId)
  const reports = () => logged(daemon).filter(({ delivery }) => delivery === id)
  await expect.poll(() => reports().length).toBeGreaterThan(2)
  expect(reports()[0]).toMatchObject({ level: 50, job: 'deliveries', err: { message: 'refused' } })
  await t.app.sql('drop function refuse() cascade')
  await eventually(async () => (await deliveriesOf(t.app, accountId))[0]!.status === 'delivered')
  expect(receiver.requests).toHaveLength(1)
})

test('an unexpected error of a run is logged with its id, and shown with the run', async () => {
  const bench = await journeyBench(t)
  const listId = await bench.list('Leads')
  const trigger = { kind: 'list-added', list: 'Leads' }
  await bench.apply({ name: 'Faulty', trigger, steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }] })
  await t.app.sql(`create function fail() returns trigger language plpgsql as $$ begin raise 'no luck'; end $$`)
  await t.app.sql('create trigger fail before update on contacts for each row execute function fail()')
  await bench.add(listId, ['a@example.com'])
  const shown = async () =>
    (await svc(t, ['--account', bench.account.id, 'journeys', 'runs', 'Faulty', '--json'])).json.runs[0]
  await eventually(async () => (await shown()).tries > 0)
  const run = await shown()
  expect(run).toMatchObject({ status: 'running', tries: 1, lastFault: 'no luck' })
  const [line] = logged(daemon).filter(({ runId }) => runId === run.id)
  expect(line).toMatchObject({ level: 50, job: 'journeys', err: { message: 'no luck' } })
  await t.app.sql('drop function fail() cascade')
  await advanceClock(t.app.database, 60_000)
  await eventually(async () => (await shown()).status === 'completed')
})

test('a job whose thread dies is down in /readyz and restarted with growing delays; the API stays ready', async () => {
  const dying = `
    import { workerData } from 'node:worker_threads'
    if (workerData?.job?.name === 'journeys') setTimeout(() => { throw new Error('The thread is broken') }, 1000)`
  const preload = `--import=data:text/javascript;base64,${Buffer.from(dying).toString('base64')}`
  const other = await startDaemon(t, { env: { SVC_LOG_LEVEL: 'info', NODE_OPTIONS: preload } })
  try {
    expect(Object.keys(await jobsOf(other))).toEqual(
      expect.arrayContaining(['deliveries', 'mail', 'journeys', 'housekeeping']),
    )
    const deaths = () => logged(other).filter(({ msg }) => msg === 'job failed')
    await expect.poll(() => deaths().length).toBe(2)
    const down = Object.entries(await jobsOf(other)).flatMap(([name, state]) => (state === 'down' ? [name] : []))
    expect(down).toEqual(['journeys'])
    expect(deaths()).toMatchObject([
      { failures: 1, restartInMs: 1_000, job: 'journeys', err: { message: 'The thread is broken' } },
      { failures: 2, restartInMs: 2_000, job: 'journeys' },
    ])
  } finally {
    await other.stop()
  }
})

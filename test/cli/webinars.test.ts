import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createCourse } from '../../src/courses/courses.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { sendingAccount } from '../support/messages.ts'
import { mailed, register, sendAll } from '../webinars/support.ts'

let account: TestAccount

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
beforeEach(async () => {
  account = await sendingAccount(t)
})

const run = (...args: string[]) => svc(t, [...args, '--account', account.id])
const json = async (...args: string[]) => {
  const ran = await run(...args, '--json')
  expect(ran.stderr).toBe('')
  return ran.json
}
/** Runs the commands a few at a time and checks their exit statuses. */
const demand = async (noun: string, calls: readonly (readonly [number, ...string[]])[]) => {
  const statuses: number[] = []
  for (let from = 0; from < calls.length; from += 4) {
    const some = calls.slice(from, from + 4).map(([, ...args]) => run(noun, ...args))
    for (const { status } of await Promise.all(some)) statuses.push(status!)
  }
  expect(calls.map(([, ...args], i) => [statuses[i], ...args])).toEqual(calls)
}
/** The paths of the join pages of a webinar, in the order of registrations. */
const pathsOf = async (id: string) => {
  const { registrations } = await json('webinars', 'registrations', id)
  return registrations.map(({ joinUrl }: { joinUrl: string }) => new URL(joinUrl).pathname as `/${string}`)
}
const work = <T>(act: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', act)

test('a webinar is created, registered for, promoted on, started, ended and listed', async () => {
  const { id: courseId } = await work((w) => createCourse(w, { title: 'Gardening' }))
  const flags = ['--at', '2027-01-05T17:00:00+01:00', '--capacity', '1', '--course', 'Gardening']
  const made = await json('webinars', 'create', '--title', 'Growing', ...flags, '--stream', 'https://stream.example/1')
  expect(made).toEqual({
    id: expect.stringMatching(/^web_/),
    title: 'Growing',
    accessMode: 'registration',
    status: 'scheduled',
    scheduledAt: Date.UTC(2027, 0, 5, 16),
    startedAt: null,
    endedAt: null,
    courseId,
    capacity: 1,
    registeredCount: 0,
    waitlistedCount: 0,
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
  })
  for (const name of ['ada', 'bob', 'cyd']) await ok(register(t, account, made.id, `${name}@people.example`))
  const { registrations } = await json('webinars', 'registrations', 'Growing')
  expect(registrations).toMatchObject([
    { email: 'ada@people.example', status: 'confirmed', joinUrl: expect.stringContaining('/join/') },
    { email: 'bob@people.example', status: 'waitlisted', joinUrl: null },
    { email: 'cyd@people.example', status: 'waitlisted' },
  ])
  const promoted = await json('webinars', 'promote', made.id, registrations[2].id)
  expect(promoted).toMatchObject({ id: registrations[2].id, status: 'confirmed', joinUrl: expect.any(String) })
  expect(await json('webinars', 'promote', made.id)).toMatchObject({ email: 'bob@people.example' })
  const [again, waiting, live] = await Promise.all([
    run('webinars', 'promote', made.id),
    json('webinars', 'registrations', made.id, '--status', 'waitlisted'),
    json('webinars', 'start', made.id),
  ])
  expect([again.status, waiting.registrations, live.status]).toEqual([6, [], 'live'])
  expect(await json('webinars', 'end', made.id)).toMatchObject({ status: 'ended', endedAt: expect.any(Number) })
  const [over, list, plain] = await Promise.all([
    run('webinars', 'end', made.id),
    json('webinars'),
    run('webinars', 'list'),
  ])
  expect(over.status).toBe(6)
  expect(list.webinars).toMatchObject([{ id: made.id, registeredCount: 3, waitlistedCount: 0 }])
  expect(plain.stdout.trim().split('\t').slice(0, 4)).toEqual([made.id, 'Growing', 'ended', '2027-01-05T16:00:00.000Z'])
})

test('only the CLI lists a subscribers session; a wrong flag is exit 2, an unknown id 3, a plan limit 6', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Members', '--access-mode', 'subscribers')
  expect((await json('webinars', 'list')).webinars).toMatchObject([{ id, accessMode: 'subscribers' }])
  expect((await t.request('GET', '/webinars', { key: account.key })).body).toEqual({ webinars: [] })
  const verbs = ['show', 'start', 'end', 'cancel', 'registrations', 'promote'].map(
    (verb) => [3, verb, 'web_none'] as const,
  )
  await demand('webinars', [
    [2, 'create'],
    [2, 'create', '--title', ' '],
    [2, 'create', '--title', 'x', '--capacity', '-1'],
    [2, 'create', '--title', 'x', '--capacity', '1.5'],
    [2, 'create', '--title', 'x', '--at', 'tomorrow'],
    [2, 'create', '--title', 'x', '--access-mode', 'public'],
    [2, 'create', '--title', 'x', '--stream', 'javascript:alert(1)'],
    [3, 'create', '--title', 'x', '--course', 'crs_none'],
    ...verbs,
  ])
  account = await t.account({ plan: 'free' })
  expect(await run('webinars', 'create', '--title', 'x')).toMatchObject({
    status: 6,
    stdout: '',
    stderr: "error: Live sessions aren't included in your plan\n  next: svc webinars create --help\n",
  })
  expect((await json('webinars', 'list')).webinars).toEqual([])
})

test('cancel emails the registered people; --dry-run counts them and changes nothing', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing', '--at', '2d')
  await ok(register(t, account, id, 'ada@people.example'))
  expect((await run('webinars', 'cancel', id, '--dry-run')).stderr).toContain('cancel Growing and email 1 person')
  const webinar = await json('webinars', 'show', id)
  expect(webinar).toMatchObject({ status: 'scheduled' })
  // The operator also sees where people register and where the stream is; the JSON is that of the API.
  expect([webinar.register, webinar.stream]).toEqual([undefined, undefined])
  const shown = (await run('webinars', 'show', id)).stdout
  expect(shown).toMatch(new RegExp(`register\\thttp\\S+/webinar/${id}\\n`))
  expect(shown).toContain('stream\t')
  expect(await json('webinars', 'cancel', id, '--yes')).toMatchObject({ status: 'cancelled' })
  expect(await mailed(t, account)).toEqual([
    'ada@people.example Cancelled: Growing',
    'ada@people.example You are registered: Growing',
  ])
})

test('the plan of a change or a cancellation waits for no lock, and counts nobody who was erased', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing', '--at', '2d', '--capacity', '2')
  for (const name of ['ada', 'bob', 'cyd', 'dee']) await ok(register(t, account, id, `${name}@people.example`))
  await json('contacts', 'erase', 'ada@people.example', '--yes')
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('select from webinars where id = $1 for update', [id])
  await session.query('select from webinar_registrations where webinar_id = $1 for update', [id])
  await session.query('select from quota_uses where account_id = $1 for update', [account.id])
  for (const [args, planned] of [
    [['update', id, '--at', '4d', '--capacity', '3'], { moved: 2, promoted: 1, mails: 3, registeredCount: 3 }],
    [['update', id, '--at', '4d'], { moved: 3, promoted: 0, mails: 3, waitlistedCount: 2 }],
    [['update', id, '--capacity', '1'], { moved: 0, promoted: 0, mails: 0, capacity: 1 }],
    [['update', id, '--title', 'Growing'], { moved: 0, promoted: 0, mails: 0 }],
    [['cancel', id], { mails: 3 }],
  ] as const) {
    const dry = await run('webinars', ...args, '--dry-run', '--json')
    expect([dry.status, dry.json]).toEqual([0, expect.objectContaining({ dryRun: true, id, ...planned })])
  }
  expect((await run('webinars', 'cancel', id)).stderr).toContain('cancel Growing and email 3 people')
})

test('bindings are set, listed and unset; a wrong event or subject is exit 2, an unknown id exit 3', async () => {
  const blocks = [{ id: 'a', type: 'text', props: { text: 'Hi' } }]
  const [project] = await work((w) => applyProjects(w, [{ name: 'Welcome', theme: {}, blocks }]))
  const course = await work((w) => createCourse(w, { title: 'Gardening' }))
  const { id } = await json('webinars', 'create', '--title', 'Growing')
  const bound = { subject: `webinar:${id}`, event: 'registered', projectId: project!.id, projectName: 'Welcome' }
  expect(await json('bindings', 'set', `webinar:${id}`, 'registered', 'Welcome')).toMatchObject(bound)
  await json('bindings', 'set', `course:${course.id}`, 'completed', project!.id!)
  expect((await json('bindings')).bindings).toMatchObject([{ subject: `course:${course.id}` }, bound])
  await demand('bindings', [
    [2, 'set', `webinar:${id}`, 'enrolled', 'Welcome'],
    [2, 'set', id, 'registered', 'Welcome'],
    [2, 'set', `webinar:${id}`],
    [3, 'set', 'webinar:web_none', 'registered', 'Welcome'],
    [3, 'set', `course:${id}`, 'enrolled', 'Welcome'],
    [3, 'set', `webinar:${id}`, 'registered', 'Nothing'],
  ])
  const unset = ['bindings', 'unset', `webinar:${id}`, 'registered'] as const
  expect(await json(...unset)).toEqual({ subject: `webinar:${id}`, event: 'registered', removed: true })
  expect(await json(...unset)).toMatchObject({ removed: false })
  expect((await json('bindings')).bindings).toHaveLength(1)
})

test('the seat of an erased person is freed for the first in line; the seat of any other person is not', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Full', '--capacity', '1')
  for (const name of ['ada', 'bob']) await ok(register(t, account, id, `${name}@people.example`))
  const { registrations } = await json('webinars', 'registrations', 'Full')
  const [ada, bob] = registrations
  const statuses = async (...flags: string[]) => (await run('webinars', 'free', 'Full', ...flags)).status
  expect(await statuses(ada.id, '--yes')).toBe(6)
  await json('contacts', 'erase', 'ada@people.example', '--yes')
  expect(await statuses(ada.id)).toBe(2)
  expect(await statuses('reg_none', '--yes')).toBe(3)
  const planned = await run('webinars', 'free', 'Full', ada.id, '--dry-run', '--json')
  expect(planned.json).toMatchObject({ id, mails: 1 })
  expect(await mailed(t, account)).not.toContain('bob@people.example You are registered: Full')
  expect(await json('webinars', 'free', 'Full', ada.id, '--yes')).toMatchObject({
    id,
    registeredCount: 1,
    waitlistedCount: 0,
  })
  expect(await mailed(t, account)).toContain('bob@people.example You are registered: Full')
  expect(await statuses(bob.id, '--yes')).toBe(6)
})

test('update asks only if it emails people; --dry-run counts them and changes nothing', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing', '--at', '2d', '--capacity', '1')
  for (const name of ['ada', 'bob']) await ok(register(t, account, id, `${name}@people.example`))
  await sendAll(t, account)
  const before = await json('webinars', 'show', id)
  const flags = ['--title', 'Later', '--stream', 'https://s.example/1', '--replay-url', 'https://s.example/2']
  expect(await json('webinars', 'update', id, ...flags)).toMatchObject({ id, title: 'Later', capacity: 1 })
  expect((await run('webinars', 'show', id)).stdout).toContain(
    'stream\thttps://s.example/1\nreplay\thttps://s.example/2\n',
  )
  const at = ['--at', '2099-01-05T17:00:00Z']
  for (const [change, people, planned] of [
    [at, '2 people', { moved: 2, promoted: 0, mails: 2 }],
    [['--capacity', '2'], '1 person', { moved: 0, promoted: 1, mails: 1 }],
    [[...at, '--capacity', 'none'], '2 people', { moved: 1, promoted: 1, mails: 2, capacity: null }],
  ] as const) {
    const asked = await run('webinars', 'update', 'Later', ...change)
    expect([asked.status, asked.stdout]).toEqual([2, ''])
    expect(asked.stderr).toContain(`This would change Later and email ${people}: it needs --yes`)
    const dry = await run('webinars', 'update', 'Later', ...change, '--dry-run', '--json')
    expect([dry.status, dry.json]).toEqual([0, expect.objectContaining({ dryRun: true, id, ...planned })])
  }
  expect(await json('webinars', 'show', id)).toMatchObject({ scheduledAt: before.scheduledAt, waitlistedCount: 1 })
  expect(await mailed(t, account)).toHaveLength(2)
  const moved = await json('webinars', 'update', id, ...at, '--capacity', 'none', '--yes')
  const { durationMinutes, timezone, description, ...resource } = before
  expect({ durationMinutes, timezone, description }).toEqual({ durationMinutes: 60, timezone: null, description: '' })
  expect(moved).toEqual({
    ...resource,
    title: 'Later',
    scheduledAt: Date.UTC(2099, 0, 5, 17),
    capacity: null,
    registeredCount: 2,
    waitlistedCount: 0,
    updatedAt: expect.any(Number),
  })
  expect((await mailed(t, account)).filter((mail) => mail.endsWith('Later'))).toEqual([
    'ada@people.example New time: Later',
    'bob@people.example You are registered: Later',
  ])
  const foreign = (await t.account()).id
  await demand('webinars', [
    [2, 'update', id],
    [2, 'update', id, '--at', '2020-01-01'],
    [2, 'update', id, '--at', 'tomorrow'],
    [2, 'update', id, '--capacity', '-1'],
    [2, 'update', id, '--capacity', 'many'],
    [2, 'update', id, '--title', ' '],
    [2, 'update', id, '--replay-url', 'javascript:alert(1)'],
    [3, 'update', 'web_none', '--title', 'x'],
  ])
  expect((await svc(t, ['webinars', 'update', id, '--title', 'x', '--account', foreign])).status).toBe(3)
  await json('webinars', 'start', id)
  await demand('webinars', [
    [6, 'update', id, '--at', '2d', '--yes'],
    [0, 'update', id, '--title', 'Now'],
  ])
  await json('webinars', 'end', id)
  expect((await run('webinars', 'update', id, '--title', 'x')).status).toBe(6)
})

test('delete takes a webinar that is over, with its registrations; one with people registered is exit 6', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing', '--at', '2d')
  await ok(register(t, account, id, 'ada@people.example'))
  await demand('webinars', [
    [6, 'delete', id, '--yes'],
    [6, 'delete', id, '--dry-run'],
    [3, 'delete', 'web_none', '--yes'],
  ])
  await json('webinars', 'cancel', id, '--yes')
  const asked = await run('webinars', 'delete', 'Growing')
  expect([asked.status, asked.stdout]).toEqual([2, ''])
  expect(asked.stderr).toContain('This would delete Growing with 1 registration: it needs --yes')
  const dry = await run('webinars', 'delete', 'Growing', '--dry-run', '--json')
  expect(dry.json).toEqual({ dryRun: true, id, title: 'Growing', registrations: 1 })
  expect((await json('webinars', 'registrations', id)).registrations).toHaveLength(1)
  expect(await json('webinars', 'delete', id, '--yes')).toEqual({ id, title: 'Growing', registrations: 1 })
  expect((await json('webinars')).webinars).toEqual([])
  expect((await run('webinars', 'delete', id, '--yes')).status).toBe(3)
  // The email that said that it was cancelled is still sent.
  expect(await mailed(t, account)).toContain('ada@people.example Cancelled: Growing')
})

test('show --stats has the numbers of its registrations beside the webinar', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing')
  await ok(register(t, account, id, 'ada@acme.test'))
  const { stats, ...webinar } = await json('webinars', 'show', 'Growing', '--stats')
  const numbers = { registrations: 1, confirmed: 1, waitlisted: 0, cancelled: 0 }
  expect(stats).toEqual({ ...numbers, days: [{ date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), ...numbers }] })
  expect(await json('webinars', 'show', id)).toMatchObject(webinar)
  await json('webinars', 'start', id)
  const [path] = await pathsOf(id)
  await ok(t.request('POST', `${path}/presence`))
  const started = await json('webinars', 'show', id, '--stats')
  expect(started.stats).toMatchObject({ ...numbers, attended: 1, days: [{ ...numbers, attended: 1 }] })
})

test('attendees are listed by page, and written as CSV that a spreadsheet runs no formula of', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing')
  for (const [i, name] of ['=1+1', 'Bob, B.', 'Cyd', 'Dee'].entries())
    await ok(register(t, account, id, `p${i}@acme.test`, name))
  await json('webinars', 'start', id)
  const paths = await pathsOf(id)
  expect((await json('webinars', 'attendees', id)).attendees).toEqual([])
  expect((await run('webinars', 'attendees', id, '--format', 'csv')).stdout).toBe(
    'email,name,firstSeenAt,lastSeenAt,minutes\r\n',
  )
  await Promise.all(paths.slice(0, 3).map((path: string) => ok(t.request('POST', `${path}/presence`))))
  const first = await json('webinars', 'attendees', 'Growing', '--limit', '2')
  const [at, row] = [expect.any(Number), { minutes: 1 }]
  expect(first.attendees).toEqual([
    { email: 'p0@acme.test', name: '=1+1', firstSeenAt: at, lastSeenAt: at, ...row },
    { email: 'p1@acme.test', name: 'Bob, B.', firstSeenAt: at, lastSeenAt: at, ...row },
  ])
  const rest = await json('webinars', 'attendees', id, '--cursor', first.nextCursor)
  expect(rest).toEqual({ attendees: [expect.objectContaining({ name: 'Cyd', ...row })] })
  const seen = new Date(first.attendees[0].firstSeenAt).toISOString()
  const safe = (await run('webinars', 'attendees', id, '--format', 'csv', '--safe')).stdout.split('\r\n')
  expect(safe.slice(1, 3)).toEqual([`p0@acme.test,'=1+1,${seen},${seen},1`, expect.stringContaining('"Bob, B."')])
  expect(safe).toHaveLength(5)
  const lines = (await run('webinars', 'attendees', id, '--format', 'jsonl')).stdout.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([...first.attendees, ...rest.attendees])
  expect((await run('webinars', 'attendees', id, '--fields', 'NAME,minutes', '--limit', '1')).stdout).toBe('=1+1\t1\n')
  const csv = ['--format', 'csv']
  for (const wrong of [
    ['--format', 'xml'],
    ['--safe'],
    [...csv, '--limit', '2'],
    [...csv, '--fields', 'email'],
    ['--cursor', 'x'],
  ])
    expect([wrong, (await run('webinars', 'attendees', id, ...wrong)).status]).toEqual([wrong, 2])
  expect((await run('webinars', 'attendees', 'web_none')).status).toBe(3)
})

test('end asks only if it emails people; --dry-run shows how many, and ends nothing', async () => {
  const { id } = await json('webinars', 'create', '--title', 'Growing')
  await ok(register(t, account, id, 'ada@acme.test'))
  await json('webinars', 'start', id)
  await work((w) =>
    applyProjects(w, [{ name: 'Sorry', theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: 'Hi' } }] }]),
  )
  await json('bindings', 'set', `webinar:${id}`, 'missed', 'Sorry')
  const asked = await run('webinars', 'end', id)
  expect([asked.status, asked.stderr]).toEqual([2, expect.stringContaining('end Growing and email 1 person')])
  const planned = (await run('webinars', 'end', id, '--dry-run', '--json')).json
  expect(planned).toMatchObject({ dryRun: true, status: 'ended', mails: 1 })
  expect(await json('webinars', 'show', id)).toMatchObject({ status: 'live' })
  expect(await json('webinars', 'end', id, '--yes')).toMatchObject({ id, status: 'ended' })
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { isMailCarried } from '../../src/broadcasts/broadcasts.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { type Ran, svc } from '../support/cli.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/deliveries.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let sink: Sink
let daemon: Daemon | undefined

beforeAll(async () => {
  sink = await openSink()
  t = await startApp({ env: { SVC_SMTP_URL: sink.url } })
})
afterAll(async () => {
  await daemon?.kill('SIGKILL')
  await t.close()
  await sink.close()
})

const run = ({ account }: Audience, ...args: string[]): Promise<Ran> =>
  svc(t, ['broadcasts', ...args, '--account', account.id, '--json'])
const create = (who: Audience, ...args: string[]) =>
  run(who, 'create', '--list', 'People', '--project', 'Spring', ...args)

test('without a daemon the mails are queued, and it says that sending needs one; nothing hangs', async () => {
  const who = await audience(t, 1201)
  const dry = await create(who, '--dry-run')
  expect([dry.status, dry.json]).toEqual([
    0,
    { dryRun: true, listId: who.listId, projectId: who.projectId, recipients: 1201, mails: 1201, suppressed: 0 },
  ])
  expect((await run(who, 'list')).json).toEqual({ broadcasts: [] })
  const made = await create(who, '--follow')
  expect(made).toMatchObject({
    status: 0,
    json: { status: 'sending', recipients: 1201, queued: 1201, sent: 0, failed: 0, suppressed: 0, scheduledAt: null },
    stderr: expect.stringContaining('svc serve'),
  })
  const { id } = made.json
  expect(Object.keys(made.json)).toEqual(
    'id status listId projectId scheduledAt recipients queued sent failed suppressed createdAt'.split(' '),
  )
  expect((await run(who, 'list')).json).toEqual({ broadcasts: [made.json] })
  const dryCancel = await run(who, 'cancel', id, '--dry-run')
  expect(dryCancel).toMatchObject({ status: 0, json: { dryRun: true, queued: 1201 } })
  const cancelled = await run(who, 'cancel', id)
  expect(cancelled).toMatchObject({ status: 0, json: { status: 'cancelled', queued: 0, sent: 0, failed: 1201 } })
  expect(sink.mails).toEqual([])
}, 60_000)

test('what is missing is exit 2, what is not there 3, too little volume 6 with both numbers', async () => {
  await t.app.sql(`insert into plans select 'three', 9, null, 3, null, null, null, true`)
  const who = await audience(t, 4, 'three')
  const bare = await run(who, 'create')
  expect([bare.status, bare.stderr]).toEqual([2, expect.stringContaining('Missing --list, --project')])
  const runs = await Promise.all([
    create(who, '--at', '2020-01-01'),
    create(who, '--rate', 'fast'),
    run(who, 'create', '--list', 'x', '--project', 'Spring'),
    run(who, 'cancel', 'bct_x'),
  ])
  expect(runs.map(({ status }) => status)).toEqual([2, 2, 3, 3])
  for (const refused of await Promise.all([create(who), create(who, '--dry-run')])) {
    expect([refused.status, refused.stdout, refused.stderr]).toEqual([
      6,
      '',
      expect.stringMatching(/has 4 recipients.* has 3 left/),
    ])
  }
  expect((await run(who, 'list')).json).toEqual({ broadcasts: [] })
}, 60_000)

test('with a daemon --follow waits for the end, and a broadcast that is done can’t be cancelled', async () => {
  const who = await audience(t, 30)
  daemon = await startDaemon(t)
  // Its jobs come to work a moment after it is ready.
  await eventually(() => isMailCarried(t.app))
  const made = await create(who, '--follow', '--subject', 'Hi {{ name }}')
  expect(made).toMatchObject({ status: 0, json: { status: 'done', queued: 0, sent: 30 } })
  expect(sink.mails.find(({ to }) => to[0] === 'c3@people.example')!.header('subject')).toBe('Hi N3')
  expect((await run(who, 'cancel', made.json.id)).status).toBe(6)
  const at = new Date(t.app.now().getTime() + 86_400_000).toISOString()
  const later = await create(who, '--at', at)
  expect(later.json).toMatchObject({ status: 'scheduled', scheduledAt: Date.parse(at), recipients: 30, queued: 0 })
  expect((await run(who, 'cancel', later.json.id)).json).toMatchObject({ status: 'cancelled', failed: 0 })
  expect(sink.mails).toHaveLength(30)
}, 60_000)

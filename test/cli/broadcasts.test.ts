import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { runBroadcasts } from '../../src/broadcasts/broadcasts.loop.ts'
import { isMailJobRunning } from '../../src/broadcasts/broadcasts.ts'
import { runMail } from '../../src/messages/outbox/outbox.run.ts'
import { useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { type Ran, svc } from '../support/cli.ts'
import { useSink } from '../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url } }))
beforeEach(() => {
  sink.mails.length = 0
})

/** Runs the job that sends emails, with its own connections, as a daemon does. */
const startJob = async () => {
  const app = await openApp(readConfig(t.env), { name: 'svc mail' })
  const stop = new AbortController()
  const fail = (fault: unknown) => {
    throw fault
  }
  const loops = [runMail(app, stop.signal, fail), runBroadcasts(app, stop.signal, fail)]
  onTestFinished(async () => {
    stop.abort()
    await Promise.all(loops)
    await app.close()
  })
  expect(await isMailJobRunning(t.app)).toBe(true)
}

const run = ({ account }: Audience, ...args: string[]): Promise<Ran> =>
  svc(t, ['broadcasts', ...args, '--account', account.id, '--json'])
const create = (who: Audience, ...args: string[]) =>
  run(who, 'create', '--list', 'People', '--project', 'Spring', ...args)
const createAndSend = (who: Audience, ...args: string[]) => create(who, '--send', '--yes', ...args)

test('without a daemon the messages are queued, a note says that sending needs a daemon, and the command ends', async () => {
  const who = await audience(t, 1201)
  const dry = await create(who, '--dry-run')
  expect([dry.status, dry.json]).toEqual([
    0,
    {
      ...{ dryRun: true, listId: who.listId, projectId: who.projectId, recipients: 1201, mails: 1201, suppressed: 0 },
      ...{ projectVersion: 1, testedVersion: null, subject: 'Spring', replyTo: null },
      from: { email: 'hello@shop.example', name: 'The Shop' },
    },
  ])
  expect((await run(who, 'list')).json).toEqual({ broadcasts: [] })
  const made = await createAndSend(who, '--follow')
  expect(made).toMatchObject({
    status: 0,
    json: { status: 'sending', recipients: 1201, queued: 1201, sent: 0, failed: 0, suppressed: 0, scheduledAt: null },
    stderr: expect.stringContaining('svc serve'),
  })
  const { id } = made.json
  expect(Object.keys(made.json)).toEqual(
    `id name status listId projectId projectVersion subject rate scheduledAt recipients queued sent failed suppressed createdAt
     startedAt endedAt from replyTo`.split(/\s+/),
  )
  expect((await run(who, 'list')).json).toEqual({ broadcasts: [made.json] })
  const dryCancel = await run(who, 'cancel', id, '--dry-run')
  expect(dryCancel).toMatchObject({ status: 0, json: { dryRun: true, queued: 1201 } })
  const cancelled = await run(who, 'cancel', id)
  expect(cancelled).toMatchObject({ status: 0, json: { status: 'cancelled', queued: 0, sent: 0, failed: 1201 } })
  expect(sink.mails).toEqual([])
})

test('a missing flag is exit 2, an unknown id 3, too little quota 6 with both numbers', async () => {
  await t.app.sql(`insert into plans select 'three', 9, null, 3, null, null, null, true`)
  const who = await audience(t, 4, 'three')
  const bare = await run(who, 'create')
  expect([bare.status, bare.stderr]).toEqual([2, expect.stringContaining('Missing --list, --project')])
  const runs = await Promise.all([
    create(who, '--at', '2020-01-01'),
    create(who, '--rate', 'fast'),
    create(who, '--follow'),
    createAndSend(who, '--at', '2020-01-01'),
    run(who, 'test', 'bct_x'),
    run(who, 'create', '--list', 'x', '--project', 'Spring'),
    run(who, 'cancel', 'bct_x'),
    run(who, 'send', 'bct_x', '--yes'),
    run(who, 'test', 'bct_x', '--to', 'me@people.example'),
  ])
  expect(runs.map(({ status }) => status)).toEqual([2, 2, 2, 2, 2, 3, 3, 3, 3])
  for (const refused of await Promise.all([createAndSend(who), create(who, '--dry-run')])) {
    expect([refused.status, refused.stdout, refused.stderr]).toEqual([
      6,
      '',
      expect.stringMatching(/has 4 recipients.* has 3 left/),
    ])
  }
  expect((await run(who, 'list')).json).toEqual({ broadcasts: [] })
})

test('with a daemon --follow waits for the end, and a finished broadcast can’t be cancelled', async () => {
  const who = await audience(t, 30)
  await startJob()
  const made = await createAndSend(who, '--follow', '--subject', 'Hi {{ name }}')
  expect(made).toMatchObject({ status: 0, json: { status: 'done', queued: 0, sent: 30 } })
  expect(sink.mails.find(({ to }) => to[0] === 'c3@people.example')!.header('subject')).toBe('Hi N3')
  expect((await run(who, 'cancel', made.json.id)).status).toBe(6)
  const at = new Date(t.app.now().getTime() + 86_400_000).toISOString()
  const later = await createAndSend(who, '--at', at)
  expect(later.json).toMatchObject({ status: 'scheduled', scheduledAt: Date.parse(at), recipients: 30, queued: 0 })
  expect((await run(who, 'cancel', later.json.id)).json).toMatchObject({ status: 'cancelled', failed: 0 })
  const now = t.app.now().getTime()
  const relative = (await createAndSend(who, '--at', '1d12h')).json
  expect(relative.scheduledAt - now).toBeGreaterThanOrEqual(36 * 3_600_000)
  expect(relative.scheduledAt).toBeLessThanOrEqual(t.app.now().getTime() + 36 * 3_600_000)
  expect((await run(who, 'cancel', relative.id)).status).toBe(0)
  expect(sink.mails).toHaveLength(30)
})

test('create makes a draft and sends nothing; a test goes to one address; send asks or needs --yes', async () => {
  await startJob()
  const who = await audience(t, 3)
  const made = await create(who, '--subject', 'For {{ name }}', '--name', 'May')
  expect(made).toMatchObject({ status: 0, json: { status: 'draft', name: 'May', recipients: 3, queued: 0 } })
  const { id } = made.json
  expect(made.stderr).toContain(`svc broadcasts send ${id}`)

  const tested = await run(who, 'test', id, '--to', 'C1@people.example')
  expect(tested).toMatchObject({ status: 0, json: { status: 'sent', projectVersion: 1 } })
  expect((await run(who, 'test', id, '--to', 'me@elsewhere.example')).status).toBe(0)
  expect(sink.mails.map((mail) => [mail.to[0], mail.header('subject')])).toEqual([
    ['c1@people.example', '[Test] For N1'],
    ['me@elsewhere.example', '[Test] For'],
  ])
  for (const { raw } of sink.mails) expect(raw).not.toMatch(/\/t\/[oc]\//)
  expect(sink.mails[0]!.raw).toContain('Hello N1')
  const [use] = await t.app.sql(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [
    who.account.id,
  ])
  expect(use).toEqual({ used: 2 })

  for (const asked of [await run(who, 'send', id), await create(who, '--send', '--subject', 'For {{ name }}')]) {
    expect([asked.status, asked.stdout]).toEqual([2, ''])
    expect(JSON.parse(asked.stderr).error).toMatch(
      /^This would email 3 people of the list People: "For {{ name }}", from .*, at once: it needs --yes$/,
    )
  }
  const dry = await run(who, 'send', id, '--dry-run')
  expect(dry).toMatchObject({
    status: 0,
    json: { dryRun: true, id, recipients: 3, mails: 3, subject: 'For {{ name }}', testedVersion: 1 },
  })
  expect((await run(who, 'list')).json.broadcasts).toEqual([made.json])

  expect(await run(who, 'send', id, '--yes', '--follow')).toMatchObject({
    status: 0,
    json: { status: 'done', sent: 3 },
  })
  expect((await run(who, 'send', id, '--yes')).status).toBe(6)
  expect(sink.mails).toHaveLength(5)
})

test('a draft can be cancelled, and a dry run keeps it', async () => {
  const who = await audience(t, 2)
  const { id } = (await create(who)).json
  expect((await run(who, 'cancel', id, '--dry-run')).json).toMatchObject({ dryRun: true, status: 'draft' })
  expect((await run(who, 'show', id)).json.status).toBe('draft')
  expect(await run(who, 'cancel', id, '--yes')).toMatchObject({ status: 0, json: { status: 'cancelled', failed: 0 } })
  expect((await run(who, 'send', id, '--yes')).status).toBe(6)
})

test('a time is read as that of send, with or without a time zone of the account', async () => {
  const who = await audience(t, 1)
  const timesOf = async (at: string) => {
    const made = await create(who, '--at', at)
    const args = ['send', '--to', 'c0@people.example', '--subject', 'x', '--text', 'x', '--at', at, '--json']
    const sent = await svc(t, [...args, '--account', who.account.id])
    expect([made.status, sent.status], made.stderr + sent.stderr).toEqual([0, 0])
    const { json } = await svc(t, ['sends', 'show', sent.json.id, '--account', who.account.id, '--json'])
    const changed = (await run(who, 'update', made.json.id, '--at', 'none')).json
    expect(changed.scheduledAt).toBeNull()
    expect((await run(who, 'update', made.json.id, '--at', at)).json.scheduledAt).toBe(made.json.scheduledAt)
    return [made.json.scheduledAt, json.scheduledAt]
  }
  const day = new Date(t.app.now().getTime() + 2 * 86_400_000).toISOString().slice(0, 10)
  const both = (text: string) => Array(2).fill(Date.parse(text))
  const texts = [`${day}T09:00`, day, `${day}T09:00:00.5+02:00`, String(Date.parse(`${day}T09:00:00Z`))]
  const [, , exact] = texts
  expect(await Promise.all(texts.map(timesOf))).toEqual([
    both(`${day}T09:00:00Z`),
    both(`${day}T00:00:00Z`),
    both(exact!),
    both(`${day}T09:00:00Z`),
  ])
  const zoned = ['accounts', 'update', who.account.id, '--timezone', 'Asia/Kolkata', '--json']
  expect((await svc(t, zoned)).status).toBe(0)
  expect(await Promise.all(texts.map(timesOf))).toEqual([
    both(`${day}T09:00:00+05:30`),
    both(`${day}T00:00:00+05:30`),
    both(exact!),
    both(`${day}T09:00:00Z`),
  ])
  expect((await create(who, '--at', 'soon')).status).toBe(2)
})

test('the question names the pace, and which subjects go to whom first', async () => {
  const who = await audience(t, 3)
  const contest = ['--subject', 'A', '--subject', 'B', '--share', '20', '--winner', 'opened', '--after', '90m']
  const { id } = (await create(who, '--rate', '12000', ...contest)).json
  const asked = JSON.parse((await run(who, 'send', id)).stderr).error
  expect(asked).toContain(
    ': "A" or "B" to 20 % of them, and 1 h 30 min later to the rest the one that was opened most, from ',
  )
  expect(asked).toMatch(/, at once, at most 12,000 a minute: it needs --yes$/)
  const dry = (await run(who, 'send', id, '--dry-run')).json
  expect(dry).not.toHaveProperty('contest')
})

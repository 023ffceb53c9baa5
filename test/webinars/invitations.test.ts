import { expect, test } from 'vitest'
import { applyProjects } from '../../src/studio/studio.ts'
import { cancelWebinar, endWebinar, startWebinar, updateWebinar } from '../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { sendingAccount } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'
import { hour, linkIn, mailsOf, makeWebinar, register, sendAll } from './support.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url } }))

const entriesOf = async (account: TestAccount) => {
  const rows = await t.app.sql<{ subject: string; calendar: string | null }>(
    'select subject, calendar from messages where account_id = $1 order by id',
    [account.id],
  )
  return rows.map(({ subject, calendar }) => ({ subject, calendar: calendar?.replaceAll('\r\n ', '') ?? null }))
}
const property = (calendar: string | null, name: string) =>
  new RegExp(`^${name}[:;](.*)\r$`, 'm').exec(calendar ?? '')?.[1]
const at = () => Math.ceil(t.app.now().getTime() / hour) * hour + 24 * hour

test('confirmation and move carry an invitation of the sender, cancelling a seat and the webinar its withdrawal, each with a higher SEQUENCE', async () => {
  const account = await sendingAccount(t)
  const scheduledAt = at()
  const body = {
    title: 'Launch',
    scheduledAt,
    capacity: 1,
    durationMinutes: 45,
    timezone: 'Europe/Berlin',
    description: 'All news',
  }
  const { body: made } = await ok(t.request('POST', '/webinars', { key: account.key, body }))
  expect(Object.keys(made.webinar)).not.toContain('durationMinutes')
  const { id } = made.webinar
  await ok(register(t, account, id, 'ada@people.example'))
  await ok(register(t, account, id, 'bob@people.example', 'Bob'))
  const [first, waiting] = await entriesOf(account)
  expect(waiting!.calendar).toBeNull()
  expect(property(first!.calendar, 'METHOD')).toBe('REQUEST')
  expect(first!.calendar).toMatch(/mailto:ada@people.example/i)
  expect(property(first!.calendar, 'ORGANIZER')).toBeDefined()
  expect(property(first!.calendar, 'DESCRIPTION')).toContain('All news')
  const utc = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  expect(property(first!.calendar, 'DTEND')).toBe(utc(scheduledAt + 45 * 60_000))
  const [mail] = await mailsOf(t, account)
  expect(mail!.text).toContain('(Europe/Berlin)')
  await sendAll(t, account)
  await t.app.work(account.id, 'cli:test', (work) =>
    updateWebinar(t.app, work, id, { scheduledAt: scheduledAt + hour }),
  )
  const moved = (await entriesOf(account)).find(({ subject, calendar }) => subject.startsWith('New time') && calendar)!
  expect(property(moved.calendar, 'METHOD')).toBe('REQUEST')
  const page = linkIn((await mailsOf(t, account))[0]!, 'Cancel my registration')
  await ok(t.request('POST', page), 303)
  const left = (await entriesOf(account)).find(({ subject }) => subject === 'Registration cancelled: Launch')!
  expect(property(left.calendar, 'METHOD')).toBe('CANCEL')
  expect(property(left.calendar, 'STATUS')).toBe('CANCELLED')
  await t.app.work(account.id, 'cli:test', (work) => cancelWebinar(t.app, work, id))
  const cancelled = (await entriesOf(account)).find(({ subject }) => subject === 'Cancelled: Launch')!
  expect(cancelled.calendar).toMatch(/mailto:bob@people.example/i)
  expect(property(cancelled.calendar, 'METHOD')).toBe('CANCEL')
  const all = [first!, moved, left, cancelled].map(({ calendar }) => calendar)
  expect(new Set(all.map((calendar) => property(calendar, 'UID'))).size).toBe(1)
  const sequences = all.map((calendar) => Number(property(calendar, 'SEQUENCE')))
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
  const [{ sequence } = { sequence: 0 }] = await t.app.sql<{ sequence: number }>(
    'select sequence from webinars where id = $1',
    [id],
  )
  expect(sequence).toBe(sequences.at(-1))
})

test('a confirmation that is bound to a project carries the invitation too, of the sender of the binding', async () => {
  const account = await sendingAccount(t)
  const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  const project = { name: 'Hi', theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: '{{ title }}' } }] }
  const [made] = await work((w) => applyProjects(w, [project]))
  const { id } = await makeWebinar(t, account, { scheduledAt: at() })
  await svc(t, ['senders', 'add', '--email', 'host@shop.example', '--name', 'Host', '--account', account.id])
  const sender = ['--sender', 'host@shop.example', '--account', account.id]
  const bound = await svc(t, ['bindings', 'set', `webinar:${id}`, 'registered', made!.id!, ...sender])
  expect(bound.status, bound.stderr).toBe(0)
  await ok(register(t, account, id, 'ada@people.example'))
  const [{ calendar } = { calendar: null }] = await entriesOf(account)
  expect(property(calendar, 'METHOD')).toBe('REQUEST')
  expect(property(calendar, 'ORGANIZER')).toMatch(/mailto:host@shop\.example$/)
})

test('a webinar has a page to register, which answers the same for known addresses', async () => {
  const account = await sendingAccount(t)
  const { id } = await makeWebinar(t, account, {
    scheduledAt: at(),
    timezone: 'America/New_York',
    description: 'About <us>',
  })
  const shown = await ok(t.request('GET', `/webinar/${id}`))
  expect(shown.body).toContain('(America/New_York)')
  expect(shown.body).toContain('About &lt;us&gt;')
  const post = (fields: Record<string, string>) =>
    t.request('POST', `/webinar/${id}`, {
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
  for (let i = 0; i < 2; i++) {
    const reply = await post({ email: 'Ada@people.example', name: 'Ada' })
    expect([reply.status, reply.headers.location]).toEqual([303, `/webinar/${id}/thanks`])
  }
  expect(await mailsOf(t, account)).toHaveLength(1)
  await ok(t.request('GET', `/webinar/${id}/thanks`))
  expect((await post({ email: 'nobody', name: 'Ada' })).status).toBe(400)
  expect((await post({ email: 'b@people.example', name: ' ' })).status).toBe(400)
  await t.app.work(account.id, 'cli:test', (work) => cancelWebinar(t.app, work, id))
  expect((await t.request('GET', `/webinar/${id}`)).status).toBe(409)
  expect((await post({ email: 'c@people.example', name: 'C' })).status).toBe(409)
  expect((await t.request('GET', '/webinar/web_none')).status).toBe(404)
})

test('the page to register shows the free seats in steps, and a waitlist where all are taken', async () => {
  const account = await sendingAccount(t)
  const bodyOf = async (id: string) => (await ok(t.request('GET', `/webinar/${id}`))).body as unknown as string
  const { id: open } = await makeWebinar(t, account, { scheduledAt: at() })
  expect(await bodyOf(open)).not.toMatch(/seats left|waitlist/)
  const { id } = await makeWebinar(t, account, { scheduledAt: at(), capacity: 21 })
  expect(await bodyOf(id)).toContain('20+ seats left')
  const seat = (n: number) => register(t, account, id, `p${n}@people.example`)
  await ok(seat(1))
  expect(await bodyOf(id)).toContain('20+ seats left')
  await ok(seat(2))
  expect(await bodyOf(id)).toContain('10+ seats left')
  for (const [capacity, text] of [
    [6, 'Fewer than 5 seats left'],
    [2, 'Join the waitlist'],
    [1, 'Join the waitlist'],
  ] as const) {
    await t.app.work(account.id, 'cli:test', (work) => updateWebinar(t.app, work, id, { capacity }))
    expect(await bodyOf(id)).toContain(text)
  }
})

test('the thanks offer a calendar entry for everyone, of the same event as the invitation', async () => {
  const account = await sendingAccount(t)
  const { id } = await makeWebinar(t, account, { scheduledAt: at(), description: 'Tea' })
  await ok(register(t, account, id, 'ada@people.example'))
  const thanks = (await ok(t.request('GET', `/webinar/${id}/thanks`))).body
  for (const link of ['https://calendar.google.com/', 'https://outlook.live.com/', `/webinar/${id}/calendar.ics`])
    expect(thanks).toContain(`href="${link}`)
  const { body, headers } = await ok(t.request('GET', `/webinar/${id}/calendar.ics`))
  expect(headers['content-type']).toBe('text/calendar; charset=utf-8; method=PUBLISH')
  const [{ calendar } = { calendar: '' }] = await entriesOf(account)
  expect(property(String(body), 'UID')).toBe(property(calendar, 'UID'))
  expect(String(body)).not.toMatch(/join|ATTENDEE/i)
  await t.app.work(account.id, 'cli:test', (work) => cancelWebinar(t.app, work, id))
  expect((await t.request('GET', `/webinar/${id}/calendar.ics`)).status).toBe(404)
  expect((await ok(t.request('GET', `/webinar/${id}/thanks`))).body).not.toContain('calendar.ics')
  const { id: untimed } = await makeWebinar(t, account, {})
  expect((await t.request('GET', `/webinar/${untimed}/calendar.ics`)).status).toBe(404)
})

test.each([
  ['https://www.youtube.com/watch?v=dQw4w9WgXcQ', 'https://www.youtube-nocookie.com'],
  ['https://youtube.com/live/dQw4w9WgXcQ', 'https://www.youtube-nocookie.com'],
  ['https://vimeo.com/76979871', 'https://player.vimeo.com'],
  ['https://stream.example/a.mp4', null],
  ['https://youtube.com.example/watch?v=dQw4w9WgXcQ', null],
  ['https://meet.example/room', null],
])('the live page embeds %s only from YouTube and Vimeo, and links to others', async (streamUrl, host) => {
  const account = await sendingAccount(t)
  const { id } = await makeWebinar(t, account, { scheduledAt: at(), streamUrl })
  const { joinUrl } = (await ok(register(t, account, id, 'ada@people.example'))).body
  const { pathname } = new URL(joinUrl!)
  const shown = async () => {
    const { body, headers } = await ok(t.request('GET', pathname as `/${string}`))
    const [, frames = null] = /frame-src ([^;]+)/.exec(String(headers['content-security-policy'])) ?? []
    return { html: String(body), frames }
  }
  expect((await shown()).frames).toBeNull()
  await t.app.work(account.id, 'cli:test', (work) => startWebinar(work, id))
  const { html, frames } = await shown()
  expect(frames).toBe(host)
  expect(/<iframe src="(https:\/\/[^/]+)/.exec(html)?.[1] ?? null).toBe(host)
  expect(html).toContain(`href="${streamUrl}"`)
  await t.app.work(account.id, 'cli:test', (work) => updateWebinar(t.app, work, id, { replayUrl: streamUrl }))
  await t.app.work(account.id, 'cli:test', (work) => endWebinar(work, id))
  expect((await shown()).frames).toBe(host)
})

test('a program registers with JSON, and gets refusals as errors', async () => {
  const account = await sendingAccount(t)
  const { id } = await makeWebinar(t, account, { scheduledAt: at() })
  const post = (body: object, to = id) => t.request('POST', `/webinar/${to}`, { body })
  for (let i = 0; i < 2; i++)
    expect((await ok(post({ email: 'Ada@people.example', name: 'Ada' }))).body).toEqual({ ok: true })
  expect((await ok(post({ email: 'bot@people.example', name: 'Bot', confirm_url: 'x' }))).body).toEqual({ ok: true })
  expect(await mailsOf(t, account)).toHaveLength(1)
  expect(await post({ email: 'nobody', name: 'N' })).toMatchObject({
    ...{ status: 400, body: { error: 'A valid email is required' } },
  })
  expect(await post({ email: 'b@people.example' })).toMatchObject({
    ...{ status: 400, body: { error: 'A name is required' } },
  })
  expect((await post({ email: 'b@people.example', name: 'B' }, 'web_none')).status).toBe(404)
  await t.app.work(account.id, 'cli:test', (work) => cancelWebinar(t.app, work, id))
  expect(await post({ email: 'b@people.example', name: 'B' })).toMatchObject({
    ...{ status: 409, body: { error: 'This session was cancelled' } },
  })
})

test('create and update take a duration, a time zone and a description; create refuses the past; the recording can come after the end', async () => {
  const account = await t.account()
  const run = (...args: string[]) => svc(t, ['webinars', ...args, '--account', account.id, '--json'])
  const flags = ['--duration', '90m', '--timezone', 'Europe/Berlin', '--description', 'News']
  const made = await run('create', '--title', 'Launch', '--at', '2030-07-01T10:00', ...flags)
  expect(made.status, made.stderr).toBe(0)
  expect(made.json.scheduledAt).toBe(Date.UTC(2030, 6, 1, 8))
  const shown = (await run('show', 'Launch')).json
  expect(shown).toMatchObject({ durationMinutes: 90, timezone: 'Europe/Berlin', description: 'News' })
  const moved = await run('update', 'Launch', '--duration', '30m', '--at', '2030-07-02T10:00', '--yes')
  expect([moved.status, moved.json.scheduledAt]).toEqual([0, Date.UTC(2030, 6, 2, 8)])
  expect((await run('show', 'Launch')).json.durationMinutes).toBe(30)
  expect((await run('create', '--title', 'Past', '--at', '2020-07-01T10:00:00Z')).status).toBe(2)
  expect((await run('create', '--title', 'Wrong', '--timezone', 'Mars/Base')).status).toBe(2)
  expect((await run('create', '--title', 'Wrong', '--duration', '10s')).status).toBe(2)
  await run('start', 'Launch')
  await run('end', 'Launch', '--yes')
  expect((await run('update', 'Launch', '--replay-url', 'https://stream.example/r', '--yes')).status).toBe(0)
  expect((await run('update', 'Launch', '--title', 'Other', '--yes')).status).toBe(6)
})

import PostalMime from 'postal-mime'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { personalData } from '../../src/app/personal-data.ts'
import { listBookings, listUpcoming } from '../../src/bookings/bookings.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import type { PageRequest } from '../../src/lib/page-request.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { type Ran, svc } from '../support/cli.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  person,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import { startMail } from '../support/messages.ts'
import type { Sink } from '../support/smtp.ts'
import { bookingEvents, bookingMails, bookingProject, bookingsOf, cancelPath, entryOf, slotsIn } from './support.ts'

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount
let mail: Arrived
let slots: number[]

/** Available around the clock, so that times are free whenever the test runs. */
const always = [1, 2, 3, 4, 5, 6, 7].map((day) => ({ day, from: '00:00', to: '23:59' }))

beforeAll(async () => {
  engaged = await startEngaged()
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  account = await engagedAccount(t, bookingProject({ availability: always }))
  mail = await sendProject(t, sink, account)
  slots = await slotsOf(mail)
})
afterAll(() => engaged.close())

const shown = async ({ token }: Arrived) => (await t.request('GET', `/liveview/${token}`)).body
const slotsOf = async (by: Arrived): Promise<number[]> => slotsIn(await shown(by))
const book = (i: number, by = mail) => answer(t, by, 'call', { startAt: slots[i] })
const booked = async (i = 0) => {
  expect((await book(i)).body).toEqual({ ok: true, duplicate: false })
  const [booking] = await bookingsOf(t, account.id)
  const [email] = await bookingMails(t, account.id)
  return { id: booking!.id, path: cancelPath(email!) }
}
const post = (path: string, form: Record<string, string> = {}) =>
  t.request('POST', path, {
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const cancelled = async () => (await bookingEvents(t, account)).filter((event) => event.type === 'booking.cancelled')
const statuses = async () => (await bookingsOf(t, account.id)).map(({ status }) => status)

describe('the confirmation email', () => {
  test('has the .ics as a calendar part and as an attachment, and a cancel link', async () => {
    // Only its own email is sent.
    await t.app.sql('delete from message_queue')
    await booked()
    const before = sink.mails.length
    const app = await openApp(readConfig(t.env))
    const loop = startMail(app)
    const { raw } = (await sink.arrived(before + 1)).at(-1)!
    await loop.stop()
    await app.close()
    expect(raw).toMatch(/^Content-Type: text\/calendar; charset=utf-8; method=REQUEST\r$/im)
    const parsed = await PostalMime.parse(raw, { attachmentEncoding: 'utf8' })
    const files = parsed.attachments.map(({ mimeType, filename }) => [mimeType, filename])
    expect(files).toEqual(expect.arrayContaining([['application/ics', 'invite.ics']]))
    const calendar = parsed.attachments.find(({ mimeType }) => mimeType === 'text/calendar')!.content as string
    expect(entryOf(calendar, 'METHOD')).toBe('REQUEST')
    expect(entryOf(calendar, 'SUMMARY')).toBe('A call\\, Ada')
    expect(entryOf(calendar, 'ORGANIZER')).toBe('CN="The Shop":mailto:hello@shop.example')
    expect(entryOf(calendar, 'ATTENDEE')).toMatch(/CN="Ada":MAILTO:ada@people\.example$/)
    expect(parsed.from).toMatchObject({ address: 'hello@shop.example', name: 'The Shop' })
    for (const part of [parsed.html, parsed.text]) expect(part).toContain('https://svc.example/b/')
    expect((await bookingMails(t, account.id))[0]!.status).toBe('sent')
  })

  test('is transactional and counts against the quota; a suppressed or refused email does not affect the booking', async () => {
    await t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, ['ada@people.example'], 'unsubscribed'))
    const used = async () =>
      (
        await t.app.sql<{ used: number }>(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [
          account.id,
        ])
      )[0]!.used
    const before = await used()
    await booked()
    expect([await used(), (await bookingMails(t, account.id))[0]!.status]).toEqual([before + 1, 'pending'])
    await t.app.sql(
      `insert into plans select 'no more sends', 9, null, 1, null, null, null, true on conflict do nothing`,
    )
    await t.app.sql(`update accounts set plan = 'no more sends' where id = $1`, [account.id])
    expect((await book(1)).body).toEqual({ ok: true, duplicate: false })
    expect((await bookingMails(t, account.id)).map(({ status, error }) => [status, error])).toEqual([
      ['failed', 'The booking was moved or cancelled'],
      ['failed', 'Monthly send quota for your plan exceeded'],
    ])
    expect(await statuses()).toEqual(['confirmed'])
  })

  test('comes from the sender of the original email; an account that can not send still takes bookings', async () => {
    await t.app.sql(
      `insert into domains (account_id, domain, status, token, public_key, sealed_key, found, created_at)
       values ($1, 'team.example', 'verified', '', '', $2, '{}', now())`,
      [account.id, t.app.box.seal('x', `${account.id} team.example`)],
    )
    await t.app.sql(`update messages set from_email = 'dana@team.example', from_name = 'Dana' where account_id = $1`, [
      account.id,
    ])
    await booked()
    const from = async () =>
      t.app.sql(
        `select from_email as email, from_name as name, error from messages where account_id = $1 and key like 'booking:%' order by key`,
        [account.id],
      )
    expect(await from()).toEqual([{ email: 'dana@team.example', name: 'Dana', error: null }])
    expect(entryOf((await bookingMails(t, account.id))[0]!.calendar, 'ORGANIZER')).toContain('dana@team.example')
    await t.app.sql(`delete from domains where account_id = $1`, [account.id])
    await ok(book(1))
    expect((await from())[1]).toEqual({ email: 'hello@shop.example', name: 'The Shop', error: null })
    await t.app.sql(`delete from senders where account_id = $1`, [account.id])
    expect((await book(2)).body).toEqual({ ok: true, duplicate: false })
    expect((await from())[2]).toMatchObject({ email: null, error: expect.stringContaining('default sender') })
  })

  test('escapes all text of attendees and authors', async () => {
    const evil = `<b>"x"</b>\r\nATTENDEE:MAILTO:evil@people.example`
    account = await engagedAccount(t, bookingProject({ availability: always, title: '<i>Call</i>; {{ name }}' }))
    mail = await sendProject(t, sink, account, { mergeData: { name: evil } })
    const { path } = await booked()
    const [email] = await bookingMails(t, account.id)
    expect(email!.html).not.toMatch(/<b>|<i>/)
    expect(email!.calendar!.match(/^ATTENDEE/gm)).toHaveLength(1)
    expect((await t.request('GET', path)).body).not.toMatch(/<b>|<i>/)
  })
})

describe('the page of a booking', () => {
  const hrefs = (body: string) => [...body.matchAll(/href="([^"]+)"/g)].map(([, url]) => url!.replaceAll('&amp;', '&'))

  test('is what the form of the live view opens, also for a move; its block is marked as booked', async () => {
    const answered = (i: number, name = '') => post(mail.view, { block: 'call', startAt: String(slots[i]), name })
    const first = await answered(0, 'Ada L.')
    const [booking] = await bookingsOf(t, account.id)
    const path = `/b/${t.app.tokens.sign('booking', [account.id, booking!.id], null)}`
    expect([first.status, first.headers.location]).toEqual([303, `${path}?booked`])
    const page = (await t.request('GET', `${path}?booked`)).body
    expect(page).toContain('<h1>You are booked</h1>')
    for (const part of ['A call, Ada', '(Europe/Berlin)', 'The Shop<br>Ada L.']) expect(page).toContain(part)
    expect((await answered(1)).headers.location).toBe(`${path}?booked`)
    expect((await bookingsOf(t, account.id))[0]!.startAt.getTime()).toBe(slots[1])
    const choose = hrefs(page).find((url) => url.startsWith('/v/'))!
    expect(choose).toBe(`${mail.view}?block=call#call`)
    // The form to move is open there, and closed in the email.
    const fired = async () => (await t.events(account.id)).map(({ type }) => type).sort()
    const before = await fired()
    const again = await t.request('GET', choose.replace(/#.*/, ''), { headers: person })
    expect(again.body).toContain('<details class="move" open>')
    // It is no link of the email.
    expect(await fired()).toEqual(before)
    const email = (await t.request('GET', mail.view)).body
    expect(email).toContain('<details class="move">')
    expect(hrefs(email)).toContain(path)
    expect(JSON.stringify(await shown(mail))).not.toContain(path)
    const refused = await post(mail.view, { block: 'call', startAt: '1' })
    expect([refused.status, refused.body]).toEqual([409, expect.stringContaining('This time is no longer available')])
  })

  test('adds the booking to a calendar: by links, and by a file with the UID of the invitation and no attendee', async () => {
    const { path, id } = await booked()
    const urls = hrefs((await t.request('GET', path)).body)
    const [google, outlook] = ['calendar.google.com', 'outlook.live.com'].map(
      (host) => new URL(urls.find((url) => url.startsWith(`https://${host}/`))!).searchParams,
    )
    const [start, end] = [new Date(slots[0]!), new Date(slots[0]! + 30 * 60_000)]
    const basic = (time: Date) => time.toISOString().replace(/[-:]|\.000/g, '')
    expect([google!.get('text'), google!.get('dates')]).toEqual(['A call, Ada', `${basic(start)}/${basic(end)}`])
    expect([outlook!.get('subject'), outlook!.get('startdt'), outlook!.get('enddt')]).toEqual([
      'A call, Ada',
      start.toISOString(),
      end.toISOString(),
    ])
    for (const details of [google!.get('details'), outlook!.get('body')])
      expect(details).toContain(`Cancel the booking: https://svc.example${path}`)
    const file = urls.find((url) => url.endsWith('.ics'))!
    expect(file).toBe(`${path}/calendar.ics`)
    const { status, body, headers } = await t.request('GET', file)
    expect([status, headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8; method=PUBLISH'])
    const entry = ['METHOD', 'UID', 'SEQUENCE', 'DTSTART', 'ORGANIZER', 'ATTENDEE'].map((name) => entryOf(body, name))
    expect(entry).toEqual(['PUBLISH', id, '0', basic(start), 'CN="The Shop":mailto:hello@shop.example', undefined])
    await ok(post(path))
    expect((await t.request('GET', file)).status).toBe(404)
  })

  test('the page of the live view has more start times than its JSON, which only a script shows', async () => {
    const { body } = await ok(t.request('GET', mail.view))
    const [, steps] = /data-starts="([\d ]+)"/.exec(body)!
    const minutes: number[] = []
    for (const step of steps!.split(' ')) minutes.push((minutes.at(-1) ?? 0) + Number(step))
    expect(minutes.length).toBeGreaterThan(300)
    expect(minutes.slice(0, 200).map((minute) => minute * 60_000)).toEqual(slots)
    expect(body.match(/name="startAt"/g)).toHaveLength(200)
  })
})

describe('the cancel link', () => {
  test('shows the time, a reason field and a button; a GET changes nothing', async () => {
    const { path } = await booked()
    const { status, body, headers } = await t.request('GET', path)
    expect([status, headers['cache-control']]).toEqual([200, 'private, no-store'])
    expect(body).toContain('A call, Ada')
    expect(body).toContain('(Europe/Berlin)')
    expect(body).toMatch(/<textarea[^>]* name="reason"/)
    expect(body).toContain('Cancel the booking</button>')
    expect(await statuses()).toEqual(['confirmed'])
    expect(await cancelled()).toEqual([])
  })

  test('its button fires booking.cancelled with cancelledBy attendee and the reason, and frees the time', async () => {
    const { path, id } = await booked()
    const { status, body } = await post(path, { reason: '  I am ill \0 ' })
    expect([status, body]).toEqual([200, expect.stringContaining('Your booking is cancelled')])
    const [event, ...more] = await cancelled()
    expect(more).toEqual([])
    expect(event!.data).toEqual({
      booking: {
        id,
        title: 'A call, Ada',
        startAt: slots[0],
        endAt: slots[0]! + 30 * 60_000,
        timezone: 'Europe/Berlin',
        attendee: { name: 'Ada', email: 'ada@people.example' },
      },
      cancelledBy: 'attendee',
      reason: 'I am ill',
    })
    const view = await shown(mail)
    expect(view.state).toEqual({})
    expect(slotsIn(view)[0]).toBe(slots[0])
    const entries = (await bookingMails(t, account.id)).map(({ calendar }) =>
      ['METHOD', 'UID', 'SEQUENCE', 'STATUS'].map((name) => entryOf(calendar, name)),
    )
    expect(entries).toEqual([
      ['REQUEST', id, '0', 'CONFIRMED'],
      ['CANCEL', id, '1', 'CANCELLED'],
    ])
  })

  test('takes the reason as JSON, too', async () => {
    const { path } = await booked()
    const headers = { 'content-type': 'application/json' }
    const reply = await t.request('POST', path, { body: { reason: 'I am ill' }, headers })
    expect([reply.status, (await cancelled())[0]!.data.reason]).toEqual([200, 'I am ill'])
  })

  test('of a cancelled booking shows that and changes nothing; a missing reason is null', async () => {
    const { path } = await booked()
    await ok(post(path))
    expect((await cancelled())[0]!.data.reason).toBe(null)
    for (const reply of [await t.request('GET', path), await post(path, { reason: 'again' })]) {
      expect([reply.status, reply.body]).toEqual([200, expect.stringContaining('This booking is already cancelled')])
      expect(reply.body).not.toContain('<form')
    }
    expect(await cancelled()).toHaveLength(1)
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('cancels once when pressed ten times concurrently', async () => {
    const { path } = await booked()
    await Promise.all(Array.from({ length: 10 }, () => ok(post(path))))
    expect(await cancelled()).toHaveLength(1)
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('after a cancellation the block can be answered again: a new booking with its own event, email and link', async () => {
    const { path, id } = await booked()
    await ok(post(path))
    expect((await book(0)).body).toEqual({ ok: true, duplicate: false })
    const events = (await bookingEvents(t, account)).filter(({ type }) => type !== 'booking.cancelled')
    expect(events).toHaveLength(4)
    const again = (await bookingsOf(t, account.id)).find(({ status }) => status === 'confirmed')!
    expect(again.id).not.toBe(id)
    expect((await post(path)).body).toContain('already cancelled')
    expect(await statuses()).toEqual(['cancelled', 'confirmed'])
    const mails = await bookingMails(t, account.id)
    await ok(post(cancelPath(mails.find(({ calendar }) => entryOf(calendar, 'UID') === again.id)!)))
    expect(await statuses()).toEqual(['cancelled', 'cancelled'])
  })

  test('with a changed token, a token of another purpose or an unknown booking is a 404 page and changes nothing', async () => {
    const { path, id } = await booked()
    const { tokens } = t.app
    for (const bad of [
      `${path}A`,
      path.slice(0, -1),
      '/b/x',
      `/b/${mail.token}`,
      `/b/${tokens.sign('open', [account.id, id], null)}`,
      `/b/${tokens.sign('booking', [account.id, 'bkg_none'], null)}`,
      `/b/${tokens.sign('booking', ['acc_none', id], null)}`,
    ]) {
      for (const reply of [await t.request('GET', bad), await post(bad)])
        expect([bad, reply.status, String(reply.headers['content-type'])]).toEqual([
          bad,
          404,
          'text/html; charset=utf-8',
        ])
    }
    expect(await statuses()).toEqual(['confirmed'])
  })
})

describe('an erased attendee', () => {
  test('is removed from all bookings; future times are freed without event or email', async () => {
    await t.app.work(account.id, 'cli:test', async (work) => {
      const { id } = await createList(work, { name: 'All' })
      await writeContacts(work, id, [{ email: 'ada@people.example', fields: {} }], new Map())
    })
    await booked()
    const [events, mails] = [await t.events(account.id), await bookingMails(t, account.id)]
    const held = await t.app.work(account.id, 'cli:test', (work) => readPerson(t.app, work, 'ada@people.example'))
    expect(held.bookings).toMatchObject([{ attendee: { name: 'Ada', email: 'ada@people.example' } }])
    await t.app.work(account.id, 'cli:test', (work) =>
      eraseContact(work, 'ada@people.example', { dryRun: false, personalData }),
    )
    expect(await bookingsOf(t, account.id)).toMatchObject([{ status: 'cancelled', name: '', email: '' }])
    expect(await t.app.sql('select 1 from booking_slots where account_id = $1', [account.id])).toEqual([])
    expect((await bookingMails(t, account.id)).map(({ html, calendar }) => [html, calendar])).toEqual([[null, null]])
    expect([(await t.events(account.id)).length, (await bookingMails(t, account.id)).length]).toEqual([
      events.length,
      mails.length,
    ])
  })
})

describe('svc bookings', () => {
  const run = (...args: string[]) => svc(t, ['bookings', ...args, '--account', account.id])
  const json = async (...args: string[]) => {
    const ran = await run(...args, '--json')
    expect([ran.status, ran.stderr]).toEqual([0, ''])
    return ran.json
  }
  const expectFailure = (ran: Ran, status: number, error: RegExp) => {
    expect(ran.stderr).toMatch(error)
    expect([ran.status, ran.stdout]).toEqual([status, ''])
  }

  test('list, show and cancel: by the host, with the reason and an email to the attendee', async () => {
    const { id, path } = await booked()
    const view = {
      id,
      status: 'confirmed',
      title: 'A call, Ada',
      startAt: slots[0],
      endAt: slots[0]! + 30 * 60_000,
      timezone: 'Europe/Berlin',
      attendee: { name: 'Ada', email: 'ada@people.example' },
      cancelledBy: null,
      reason: null,
      sendId: mail.id,
      projectId: account.projectId,
      blockId: 'call',
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      cancelledAt: null,
    }
    expect(await Promise.all([json(), json('show', id)])).toEqual([{ bookings: [view] }, view])
    const before = (await bookingMails(t, account.id)).length
    const dry = await run('cancel', id, '--dry-run', '--json')
    expect([dry.status, dry.json]).toEqual([0, { dryRun: true, id, events: { 'booking.cancelled': 1 }, mails: 1 }])
    expect([await cancelled(), (await bookingMails(t, account.id)).length]).toEqual([[], before])
    expect((await json('show', id)).status).toBe('confirmed')
    expectFailure(await run('cancel', id), 2, /cancel the booking .* email ada@people\.example .*: it needs --yes/)
    expect((await json('show', id)).status).toBe('confirmed')
    const after = await json('cancel', id, '--reason', 'We are closed', '--yes')
    const ended = { status: 'cancelled', cancelledBy: 'host', reason: 'We are closed', cancelledAt: expect.any(Number) }
    expect(after).toEqual({ ...view, ...ended })
    expect((await cancelled()).map(({ data }) => [data.booking.id, data.cancelledBy, data.reason])).toEqual([
      [id, 'host', 'We are closed'],
    ])
    const last = (await bookingMails(t, account.id)).at(-1)!
    expect(last.to).toBe('ada@people.example')
    expect(last.text).toContain('Reason: We are closed')
    expect(entryOf(last.calendar, 'METHOD')).toBe('CANCEL')
    expect((await t.request('GET', path)).body).toContain('already cancelled')
    expectFailure(await run('cancel', id), 6, /is already cancelled/)
    expect(await cancelled()).toHaveLength(1)
  })

  test('cancelling an ended booking is exit 6, and its dry run counts 0', async () => {
    const { id } = await booked()
    await t.app.sql(
      `update bookings set start_at = start_at - interval '2 days', end_at = end_at - interval '2 days' where id = $1`,
      [id],
    )
    expect((await run('cancel', id, '--dry-run', '--json')).json).toMatchObject({ mails: 0 })
    expectFailure(await run('cancel', id), 6, /has ended/)
    expect([await statuses(), await cancelled()]).toEqual([['confirmed'], []])
    expect(await bookingMails(t, account.id)).toHaveLength(1)
  })

  test('an unknown booking or one of another account is exit 3; invalid flags are exit 2', async () => {
    const { id } = await booked()
    account = await engagedAccount(t)
    const [shown, cancelled, both] = await Promise.all([
      run('show', 'bkg_none'),
      run('cancel', id),
      run('list', '--upcoming', '--status', 'cancelled'),
    ])
    expectFailure(shown, 3, /There is no booking/)
    expectFailure(cancelled, 3, /There is no booking/)
    expectFailure(both, 2, /not both/)
    expect(await t.app.sql(`select 1 from bookings where id = $1 and status = 'confirmed'`, [id])).toHaveLength(1)
  })
})

test('bookings are listed in pages, newest first; upcoming ones by start time', async () => {
  const own = { status: null, email: null }
  for (const [i, name] of ['bo', 'cy', 'di'].entries())
    await ok(book(5 - i, await sendProject(t, sink, account, { to: `${name}@people.example` })))
  await ok(book(20))
  await ok(post(cancelPath((await bookingMails(t, account.id)).find(({ to }) => to === 'ada@people.example')!)))
  await ok(book(20))
  const pages = async (list: (work: Work, page: PageRequest) => ReturnType<typeof listUpcoming>) => {
    const emails: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: PageRequest = { limit: 2, ...(cursor && { cursor }) }
      const { rows, nextCursor } = await t.app.work(account.id, 'cli:test', (work) => list(work, page))
      emails.push(...rows.map(({ attendee }) => attendee.email.split('@')[0]!))
      cursor = nextCursor
    }
    return emails
  }
  expect(await pages((work, page) => listBookings(work, own, page))).toEqual(['ada', 'ada', 'di', 'cy', 'bo'])
  expect(await pages((work, page) => listUpcoming(work, null, page))).toEqual(['di', 'cy', 'bo', 'ada'])
  expect(await pages((work, page) => listBookings(work, { ...own, status: 'cancelled' }, page))).toEqual(['ada'])
  expect(await pages((work, page) => listUpcoming(work, 'cy@people.example', page))).toEqual(['cy'])
  await expect(pages((work) => listUpcoming(work, null, { limit: 2, cursor: 'x' }))).rejects.toThrow('cursor')
})

import { beforeEach, expect, test } from 'vitest'
import { eraseContact } from '../../../src/contacts/contacts.ts'
import type { Work } from '../../../src/store/work.ts'
import { webinarStats } from '../../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { fastest } from '../../support/cost.ts'
import { testClock } from '../../support/journeys.ts'
import { sendingAccount } from '../../support/messages.ts'
import { linkIn, mailsOf, makeWebinar, register } from '../support.ts'

const [minute, day] = [60_000, 86_400_000]
const clock = testClock(Date.UTC(2026, 10, 1) - minute)
let account: TestAccount
const t = useApp(() => ({ now: clock.now, env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(account.id, 'cli:test', run)
const stats = (id: string) => work((w) => webinarStats(w, id))
const today = () => clock.now().toISOString().slice(0, 10)

test('registrations count by the UTC day on which they were made and by their status now, without gaps', async () => {
  const { id } = await makeWebinar(t, account, { capacity: 2 })
  const { id: other } = await makeWebinar(t, account)
  const stranger = await sendingAccount(t)
  const { id: foreign } = await makeWebinar(t, stranger)
  expect(await stats(id)).toEqual({ registrations: 0, confirmed: 0, waitlisted: 0, cancelled: 0, days: [] })
  await ok(register(t, account, other, 'dora@acme.test'))
  await ok(register(t, stranger, foreign, 'dora@acme.test'))
  const first = today()
  await ok(register(t, account, id, 'ada@acme.test'))
  await ok(register(t, account, id, 'ada@acme.test'))
  clock.advance(minute)
  const second = today()
  await ok(register(t, account, id, 'bob@acme.test'))
  clock.advance(2 * day)
  await ok(register(t, account, id, 'cleo@acme.test'))
  await ok(register(t, account, id, 'dora@acme.test'))
  const none = { registrations: 0, confirmed: 0, waitlisted: 0, cancelled: 0 }
  const between = new Date(clock.now().getTime() - day).toISOString().slice(0, 10)
  expect(await stats(id)).toEqual({
    ...{ registrations: 4, confirmed: 2, waitlisted: 2, cancelled: 0 },
    days: [
      { date: first, ...none, registrations: 1, confirmed: 1 },
      { date: second, ...none, registrations: 1, confirmed: 1 },
      { date: between, ...none },
      { date: today(), ...none, registrations: 2, waitlisted: 2 },
    ],
  })
  // The cancelled seat goes to the waitlist: both count on the day of their registration.
  const mail = (await mailsOf(t, account)).find(({ email }) => email === 'ada@acme.test')!
  expect((await t.request('POST', linkIn(mail, 'Can’t come\\? Cancel my registration'))).status).toBe(303)
  const { days, ...total } = await stats(id)
  expect(total).toEqual({ registrations: 4, confirmed: 2, waitlisted: 1, cancelled: 1 })
  expect(days[0]).toEqual({ date: first, ...none, registrations: 1, cancelled: 1 })
  expect(days.at(-1)).toEqual({ date: today(), ...none, registrations: 2, confirmed: 1, waitlisted: 1 })
  await work(async (w) => eraseContact(w, 'bob@acme.test', { dryRun: false, personalData: await t.app.personalData() }))
  expect((await stats(id)).registrations).toBe(4)
  expect(await work((w) => webinarStats(w, foreign))).toEqual({ ...none, days: [] })
})

test('the time of counting grows no faster than the number of registrations', async () => {
  const few = await makeWebinar(t, account)
  const many = await makeWebinar(t, account)
  const add = (webinar: string, count: number) =>
    t.app.sql(
      `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, created_at, updated_at)
       select $1, $2 || n, $2, n || '@acme.test', '', 'confirmed', n, $3::timestamptz - n * interval '1 minute', $3
       from generate_series(1, $4) n`,
      [account.id, webinar, clock.now(), count],
    )
  await add(few.id, 1000)
  await add(many.id, 20_000)
  await add('web_other', 20_000)
  expect(await stats(many.id)).toMatchObject({ registrations: 20_000, confirmed: 20_000 })
  expect(await fastest(() => stats(many.id))).toBeLessThan(60 * (await fastest(() => stats(few.id))))
})

import { beforeEach, expect, test } from 'vitest'
import { Migration20261123230600_form_people as Counting } from '../../migrations/Migration20261123230600_form_people.ts'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact, leaveList, readTimeline } from '../../src/contacts/contacts.ts'
import { deleteForm, formStats, honeypotName } from '../../src/forms/forms.ts'
import { addUpTallies } from '../../src/store/tallies.ts'
import type { Work } from '../../src/store/work.ts'
import { ok } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { testClock } from '../support/journeys.ts'
import { randomOfTest } from '../support/random.ts'
import { type FormBench, formBench, urlencoded, useForms } from './support.ts'

const minute = 60_000
const day = 86_400_000

let bench: FormBench
const clock = testClock(Date.UTC(2026, 10, 1))
const t = useForms(() => ({ now: clock.now }))
beforeEach(async () => {
  // One minute before the end of a UTC day.
  clock.advance(2 * day - minute - (clock.now().getTime() % day))
  bench = await formBench(t)
})

const work = <T>(run: (work: Work) => Promise<T>, account = bench.account) => t.app.work(account.id, 'cli:test', run)
const submit = (id: string, email = 'ada@acme.test', fields: object = {}) =>
  t.request('POST', `/f/${id}`, { body: { email, first_name: 'Ada', ...fields } })
const stats = (id: string) => work((w) => formStats(w, id))
const numbers = async (id: string) => {
  const { days, ...total } = await stats(id)
  for (const name of ['submissions', 'confirmed', 'people'] as const)
    expect(days.reduce((sum, { [name]: count }) => sum + count, 0)).toBe(total[name])
  return [total.submissions, total.confirmed, total.people]
}
const today = () => clock.now().toISOString().slice(0, 10)
const people = (account = bench.account) =>
  t.app.sql<{ email: string; formId: string }>(
    'select email, form_id as "formId" from form_people where account_id = $1 order by email, form_id',
    [account.id],
  )
const erase = async (email: string) => {
  const personalData = await t.app.personalData()
  return work((w) => eraseContact(w, email, { dryRun: false, personalData }))
}

test('a form that nobody submitted has zeros and no days; nothing of another form or account is counted', async () => {
  const [form, other] = [await bench.form(), await bench.form()]
  const stranger = await formBench(t)
  await ok(submit((await stranger.form()).id))
  await ok(submit(other.id))
  expect(await stats(form.id)).toEqual({ submissions: 0, confirmed: 0, people: 0, days: [] })
  expect(await work((w) => formStats(w, other.id), stranger.account)).toMatchObject({ submissions: 0, days: [] })
})

test('repeated submissions count, each person once on the first day; days are UTC and have no gaps', async () => {
  const { id } = await bench.form()
  const first = today()
  await ok(submit(id))
  await ok(submit(id, ' ADA@acme.test '))
  clock.advance(minute - 1)
  await ok(submit(id, 'bob@acme.test'))
  clock.advance(1)
  expect(today()).not.toBe(first)
  const second = today()
  await ok(submit(id))
  clock.advance(2 * day)
  await ok(submit(id, 'cleo@acme.test'))
  const expected = {
    submissions: 5,
    confirmed: 5,
    people: 3,
    days: [
      { date: first, submissions: 3, confirmed: 3, people: 2 },
      { date: second, submissions: 1, confirmed: 1, people: 0 },
      {
        date: new Date(clock.now().getTime() - day).toISOString().slice(0, 10),
        submissions: 0,
        confirmed: 0,
        people: 0,
      },
      { date: today(), submissions: 1, confirmed: 1, people: 1 },
    ],
  }
  expect(await stats(id)).toEqual(expected)
  await addUpTallies(t.app)
  expect(await stats(id)).toEqual(expected)
})

test('double opt-in: a submission is confirmed on the day of the confirmation, once', async () => {
  const { id } = await bench.form({ doubleOptIn: true })
  await ok(submit(id))
  await ok(submit(id, 'bob@acme.test'))
  const first = today()
  clock.advance(minute)
  const link = await bench.link()
  await Promise.all([1, 2, 3].map(() => ok(t.request('POST', link))))
  await ok(t.request('POST', link))
  expect((await stats(id)).days).toEqual([
    { date: first, submissions: 2, confirmed: 0, people: 2 },
    { date: today(), submissions: 0, confirmed: 1, people: 0 },
  ])
  // Bob is confirmed: he submits the same again, and then a change that he must confirm.
  await ok(submit(id, 'bob@acme.test'))
  expect(await numbers(id)).toEqual([3, 1, 2])
  await ok(submit(id, 'bob@acme.test', { first_name: 'Bob' }))
  await ok(t.request('POST', await bench.link()))
  expect(await numbers(id)).toEqual([4, 2, 2])
})

test('what is not accepted is not counted', async () => {
  const { id } = await bench.form()
  await ok(submit(id, 'no address'), 400)
  await ok(submit(id, 'ada@acme.test', { [honeypotName]: 'x' }))
  expect((await t.request('POST', `/f/${id}`, urlencoded({ email: '' }))).status).toBe(400)
  expect([await numbers(id), await people()]).toEqual([[0, 0, 0], []])
  const full = await formBench(t, 'free')
  await t.app.sql(`update accounts set contact_count = 1000000 where id = $1`, [full.account.id])
  const limited = await full.form()
  expect((await submit(limited.id)).status).toBe(409)
  expect(await work((w) => formStats(w, limited.id), full.account)).toMatchObject({ submissions: 0, people: 0 })
})

test('submissions of one person at once count all, and the person once', async () => {
  for (const doubleOptIn of [false, true]) {
    const { id } = await bench.form({ doubleOptIn })
    const answers = await Promise.all(Array.from({ length: 10 }, () => submit(id)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await numbers(id)).toEqual([10, doubleOptIn ? 0 : 10, 1])
  }
})

test('an erased address is not counted as a person any more, its submissions are; leaving a list changes nothing', async () => {
  const [form, other] = [await bench.form(), await bench.form()]
  for (const email of ['ada@acme.test', 'bob@acme.test']) {
    await ok(submit(form.id, email))
    await ok(submit(other.id, email))
  }
  await work((w) => leaveList(w, bench.listId, 'bob@acme.test'))
  expect(await numbers(form.id)).toEqual([2, 2, 2])
  await ok(submit(form.id, 'bob@acme.test'))
  expect(await numbers(form.id)).toEqual([3, 3, 2])
  const held = await work((w) => readPerson(t.app, w, 'bob@acme.test'))
  const at = clock.now().getTime()
  expect(held).toMatchObject({
    submittedForms: [form.id, other.id].sort().map((formId) => ({ formId, submittedAt: at })),
  })
  await work((w) => leaveList(w, bench.listId, 'bob@acme.test'))
  await erase('bob@acme.test')
  expect([await numbers(form.id), await numbers(other.id)]).toEqual([
    [3, 3, 1],
    [2, 2, 1],
  ])
  expect((await people()).map(({ email }) => email)).toEqual(['ada@acme.test', 'ada@acme.test'])
  await ok(submit(form.id, 'bob@acme.test'))
  expect(await numbers(form.id)).toEqual([4, 4, 2])
})

test('numbers equal a recount after submissions, confirmations and erasures at once', async () => {
  const forms = [await bench.form(), await bench.form({ doubleOptIn: true }), await bench.form({ doubleOptIn: true })]
  const addresses = ['ada', 'bob', 'cleo'].map((name) => `${name}@acme.test`)
  const submitted = new Map(forms.map(({ id }) => [id, 0]))
  const random = randomOfTest()
  const act = async () => {
    for (let i = 0; i < 15; i++) {
      const [form, email] = [random.pick(forms), random.pick(addresses)]
      const what = random.next()
      if (what < 0.15) await erase(email).catch((error) => expect(error).toMatchObject({ kind: 'not_found' }))
      else if (what < 0.3) {
        const mails = (await bench.mails()).filter(({ text }) => text?.includes('/f/confirm/'))
        if (mails.length > 0) {
          const [, link] = /https:\/\/svc\.example(\/f\/confirm\/\S+)/.exec(random.pick(mails).text)!
          // 404: the signup was erased after its email was read.
          expect([200, 404]).toContain((await t.request('POST', link!)).status)
        }
      } else {
        const { status } = await submit(form.id, email, { first_name: `Name ${random.between(1, 3)}` })
        expect(status).toBe(200)
        submitted.set(form.id, submitted.get(form.id)! + 1)
      }
      if (what < 0.05) await addUpTallies(t.app, { batchSize: 3 })
    }
  }
  await Promise.all([act(), act(), act()])
  const rows = await people()
  for (const { id, doubleOptIn } of forms) {
    const [submissions, confirmed, counted] = await numbers(id)
    expect(submissions).toBe(submitted.get(id))
    if (!doubleOptIn) expect(confirmed).toBe(submissions)
    expect(counted).toBe(rows.filter(({ formId }) => formId === id).length)
  }
})

test('deleting a form deletes its counts and people, also after an interruption, and nothing is counted for it later', async () => {
  const [form, stays] = [await bench.form({ doubleOptIn: true }), await bench.form()]
  const stranger = await formBench(t)
  await ok(submit((await stranger.form()).id))
  await ok(submit(form.id))
  await ok(submit(stays.id, 'bob@acme.test'))
  await addUpTallies(t.app)
  await ok(submit(form.id, 'bob@acme.test'))
  await work((w) => deleteForm(w, form.id))
  await ok(t.request('POST', await bench.link()))
  expect(await stats(form.id)).toMatchObject({ submissions: 0, days: [] })
  await runHousekeeping(t.app, new AbortController().signal)
  expect(await people()).toEqual([{ email: 'bob@acme.test', formId: stays.id }])
  expect(await people(stranger.account)).toHaveLength(1)
  expect(await numbers(stays.id)).toEqual([1, 1, 1])

  const { status } = await svc(t, ['forms', 'delete', stays.id, '--yes', '--account', bench.account.id])
  expect([status, await people()]).toEqual([0, []])
})

test('a submission and the deletion of its form at once leave no counts and no people', async () => {
  for (let i = 0; i < 8; i++) {
    const { id } = await bench.form()
    // The submission may come too late.
    await Promise.all([submit(id, `${i}@acme.test`), work((w) => deleteForm(w, id))])
    expect(await stats(id)).toMatchObject({ submissions: 0, days: [] })
  }
  await runHousekeeping(t.app, new AbortController().signal)
  expect(await people()).toEqual([])
})

test('the timeline has the first submission of each form; of a deleted form only an unconfirmed one', async () => {
  const [form, optIn] = [await bench.form({ name: 'Guide' }), await bench.form({ name: 'News', doubleOptIn: true })]
  const entries = async (email = 'ada@acme.test') => {
    const { timeline } = await work((w) => readTimeline(t.app, w, email, 50))
    return timeline.filter(({ kind }) => kind === 'form.submitted').map(({ at, title, id }) => ({ at, title, id }))
  }
  const at = clock.now().getTime()
  await ok(submit(optIn.id))
  await ok(submit(optIn.id, 'bob@acme.test'))
  clock.advance(minute)
  await ok(submit(optIn.id))
  await ok(submit(form.id))
  await ok(submit(form.id))
  const [ofForm, ofOptIn] = [
    { at: at + minute, title: 'Guide', id: form.id },
    { at, title: 'News', id: optIn.id },
  ]
  expect(await entries()).toEqual([ofForm, ofOptIn])
  expect(await entries('bob@acme.test')).toEqual([ofOptIn])
  await work((w) => deleteForm(w, optIn.id))
  expect(await entries()).toEqual([ofForm])
  expect(await entries('bob@acme.test')).toEqual([ofOptIn])
})

test('deleting an account deletes its people and counts of forms', async () => {
  await ok(submit((await bench.form()).id))
  await deleteAccount(t.app, bench.account.id, { actor: 'cli:test' })
  const rows = await t.app.sql(
    `select account_id from form_people where account_id = $1 union all select account_id from day_tallies where account_id = $1
     union all select account_id from day_counts where account_id = $1`,
    [bench.account.id],
  )
  expect(rows).toEqual([])
})

test('the migration counts the signups that wait for their confirmation', async () => {
  const { id } = await bench.form({ doubleOptIn: true })
  await ok(submit(id))
  const expected = await stats(id)
  await t.app.sql('delete from day_tallies')
  await t.app.sql('delete from day_counts')
  await t.app.sql('delete from form_people')
  const migration = new Counting({} as never, {} as never)
  migration.up()
  const statements = migration.getQueries().map(String)
  for (const text of statements.filter((text) => text?.includes('insert into'))) await t.app.sql(text)
  expect(await stats(id)).toEqual(expected)
})

test('a million submissions are read from the counts of their days', async () => {
  // There are no submissions to count, only the counts of days.
  const withEachDay = async (counts: object) => {
    const { id } = await bench.form()
    await t.app.sql(
      `insert into day_counts (account_id, subject, day, counts)
       select $1, $2, date '2024-01-01' + n, $3 from generate_series(0, 999) n`,
      [bench.account.id, id, counts],
    )
    return id
  }
  const few = await withEachDay({ submissions: 1 })
  const many = await withEachDay({ submissions: 1000, confirmed: 900, people: 800 })
  expect(await stats(few)).toMatchObject({ submissions: 1000 })
  expect(await stats(many)).toMatchObject({ submissions: 1_000_000, confirmed: 900_000, people: 800_000 })
})

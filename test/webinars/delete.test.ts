import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { accountUsage } from '../../src/accounts/accounts.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import { listBindings, setBinding } from '../../src/lifecycle/lifecycle.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { personalData } from '../../src/webinars/webinars.personal-data.ts'
import { cancelWebinar, deleteWebinar, endWebinar, startWebinar } from '../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'
import { sendingAccount } from '../support/messages.ts'
import { hour, linkIn, mailsOf, makeWebinar, register, webinarOf } from './support.ts'

let account: TestAccount
const clock = { now: new Date('2026-11-22T12:00:00Z') }

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, now: () => clock.now })
beforeEach(async () => {
  account = await sendingAccount(t)
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const remove = (id: string) => work((w) => deleteWebinar(w, id))
const make = async (...names: string[]) => {
  const { id } = await makeWebinar(t, account, { scheduledAt: clock.now.getTime() + 48 * hour })
  for (const name of names) await ok(register(t, account, id, `${name}@people.example`))
  return id
}

test.each(['ended', 'cancelled'])(
  'one that is %s goes with its registrations, bindings and links, and with nothing else',
  async (status) => {
    const other = await make('ada')
    const id = await make('ada', 'bob')
    const [mail] = (await mailsOf(t, account)).filter(({ email }) => email.startsWith('bob'))
    const blocks = [{ id: 'a', type: 'text', props: { text: 'Hi' } }]
    await work((w) => applyProjects(w, [{ name: 'Welcome', theme: {}, blocks }]))
    for (const subject of [id, other])
      await work((w) => setBinding(t.app, w, `webinar:${subject}`, 'reminder', 'Welcome'))
    if (status === 'cancelled') await work((w) => cancelWebinar(t.app, w, id))
    else {
      await work((w) => startWebinar(w, id))
      await work((w) => endWebinar(w, id))
    }
    const about = async (name: string) => (await work((w) => personalData[0]!.read(w, `${name}@people.example`))).length
    expect([await about('ada'), await about('bob')]).toEqual([2, 1])
    const mails = await mailsOf(t, account)
    expect(await remove(id)).toEqual({ registrations: 2 })
    expect([await about('ada'), await about('bob')]).toEqual([1, 0])
    expect(await t.app.sql('select from webinar_registrations where webinar_id = $1', [id])).toEqual([])
    expect((await work(listBindings)).map(({ subject }) => subject)).toEqual([`webinar:${other}`])
    expect(await webinarOf(t, account, id)).toBeUndefined()
    expect(await webinarOf(t, account, other)).toMatchObject({ registeredCount: 1 })
    expect(await mailsOf(t, account)).toEqual(mails)
    for (const label of ['Join the session', 'Cancel my registration', 'Add to your calendar'])
      expect((await t.request('GET', linkIn(mail!, label))).status).toBe(404)
    expect((await register(t, account, id, 'cyd@people.example')).status).toBe(404)
    await expect(remove(id)).rejects.toMatchObject({ kind: 'not_found' })
  },
)

test('one that is not over stays while anyone is registered, waits or had a seat before an erasure', async () => {
  const listId = (await work((w) => createList(w, { name: 'People' }))).id
  const contacts = [{ email: 'ada@people.example', fields: {} }]
  await upsertBatch(t.app, account.id, 'cli:test', { listId, contacts })
  const seat = await make('ada')
  const { id: waiting } = await makeWebinar(t, account, { capacity: 0 })
  await ok(register(t, account, waiting, 'bob@people.example'))
  const live = await make('bob')
  await work((w) => startWebinar(w, live))
  await work((w) => eraseContact(w, 'ada@people.example', { dryRun: false }))
  for (const id of [seat, waiting, live]) await expect(remove(id)).rejects.toMatchObject({ kind: 'conflict' })
  const foreign = await makeWebinar(t, await t.account())
  await expect(remove(foreign.id)).rejects.toMatchObject({ kind: 'not_found' })
  expect(await t.app.sql('select from webinars where id = any($1)', [[seat, waiting, live, foreign.id]])).toHaveLength(
    4,
  )
})

test('without registrations a scheduled or live one goes, with those who cancelled; the minutes of a live one are counted', async () => {
  const scheduled = await make('ada')
  const [mail] = await mailsOf(t, account)
  await ok(t.request('POST', linkIn(mail!, 'Cancel my registration')))
  const live = await make()
  await work((w) => startWebinar(w, live))
  clock.now = new Date(clock.now.getTime() + 90_000)
  expect([await remove(scheduled), await remove(live)]).toEqual([{ registrations: 1 }, { registrations: 0 }])
  const usage = await t.app.operate('cli:test', (operation) => accountUsage(operation, account.id))
  expect(usage.find(({ quota }) => quota === 'broadcastMinutes')!.used).toBe(2)
})

test('a registration that waits for the deletion finds no webinar, and leaves no row', async () => {
  const id = await make()
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('select from webinars where id = $1 for update', [id])
  const deletion = remove(id)
  await untilLocked(t.app.database, 1)
  const registration = register(t, account, id, 'ada@people.example')
  await untilLocked(t.app.database, 2)
  await session.query('commit')
  const [, reply] = await Promise.all([deletion, registration])
  expect(reply.status).toBe(404)
  expect(await t.app.sql('select from webinar_registrations where webinar_id = $1', [id])).toEqual([])
  expect(await mailsOf(t, account)).toEqual([])
})

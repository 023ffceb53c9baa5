import { beforeEach, describe, expect, test } from 'vitest'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import { createBroadcast, NewBroadcast, sendBroadcast, showBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { countPersonalData, readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { updateCourse } from '../../src/courses/courses.ts'
import { countSegment, createSegment, deleteSegment, findSegment, listSegments } from '../../src/segments/segments.ts'
import type { Work } from '../../src/store/work.ts'
import { applyProjects, deleteProject } from '../../src/studio/studio.ts'
import { useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { svc } from '../support/cli.ts'
import { untilLocked } from '../support/database.ts'
import { plainProject } from '../support/projects.ts'

/* Filters that are stored, in segments and broadcasts, while what they name changes. */

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:1' } })
let who: Audience
beforeEach(async () => {
  who = await audience(t, 3)
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(who.account.id, 'cli:test', run)
const insert = (table: string, row: Record<string, unknown>) => {
  const all = Object.entries({ account_id: who.account.id, ...row })
  return t.app.sql(
    `insert into ${table} (${all.map(([name]) => name)}) values (${all.map((_, i) => `$${i + 1}`)})`,
    all.map(([, value]) => value),
  )
}
const segment = (where: string, name = 'Some') => work((w) => createSegment(w, { name, list: 'People', where }))
const count = (name = 'Some') => work(async (w) => countSegment(w, await findSegment(w, name)))
const broadcast = async (given: object) =>
  work(async (w) =>
    sendBroadcast(t.app, w, (await createBroadcast(w, NewBroadcast.parse({ project: 'Spring', ...given }))).id),
  )
const step = (id: string) => work((w) => advanceBroadcast(t.app, w, id))
const show = (id: string) => work((w) => showBroadcast(w, id))
const sent = (projectId: string, n: number) =>
  insert('messages', {
    ...{
      id: `msg_${projectId}${n}`,
      source_kind: 'send',
      type: 'marketing',
      email: `c${n}@people.example`,
      subject: '',
    },
    ...{ project_id: projectId, status: 'sent', created_at: new Date(), finished_at: new Date() },
  })

describe('a stored filter that names something', () => {
  test('means the same after a rename, and when another one takes the name', async () => {
    const [first] = await work((w) => applyProjects(w, [plainProject('News')]))
    await sent(first!.id!, 0)
    await sent(who.projectId, 1)
    await sent(who.projectId, 2)
    await insert('courses', {
      id: 'crs_1',
      title: 'Baking',
      published: true,
      created_at: new Date(),
      updated_at: new Date(),
    })
    await insert('members', { id: 'sub_1', email: 'c1@people.example', created_at: new Date() })
    await insert('enrolments', {
      member_id: 'sub_1',
      course_id: 'crs_1',
      active: true,
      created_at: new Date(),
      updated_at: new Date(),
    })
    const where = 'sent in News < 30d or course in (Baking)'
    expect((await segment(where)).where).toBe(where)
    const { id } = await broadcast({ segment: 'Some' })
    const other = await broadcast({ list: 'People', where })
    expect(await count()).toBe(2)
    await work(async (w) => {
      await updateCourse(w, 'Baking', { title: 'Bread' })
      await applyProjects(w, [{ ...plainProject('Old news'), id: first!.id! } as never])
      await applyProjects(w, [{ ...plainProject('News'), id: who.projectId } as never])
    })
    expect(await count()).toBe(2)
    for (const one of [id, other.id]) {
      await step(one)
      expect(await show(one)).toMatchObject({ status: 'sending', recipients: 2, where })
      expect(await show(one)).not.toHaveProperty('reason')
    }
    expect(await work((w) => findSegment(w, 'Some'))).toMatchObject({ where })
  })

  test('stored before names were resolved is looked up by them', async () => {
    await sent(who.projectId, 1)
    await segment('sent in Spring < 30d')
    await t.app.sql('update segments set filter_names = null where account_id = $1', [who.account.id])
    expect(await count()).toBe(1)
  })

  test('is a mistake once that was deleted; a broadcast is cancelled and says why', async () => {
    const [gone] = await work((w) => applyProjects(w, [plainProject('News')]))
    await segment('not sent in News < 30d')
    const { id } = await broadcast({ segment: 'Some' })
    const manual = await broadcast({ list: 'People', where: 'field.name = N1' })
    await work((w) => deleteProject(w, gone!.id!))
    const message = 'filter, column 13: News does not exist any more'
    await expect(count()).rejects.toMatchObject({ kind: 'invalid', message })
    await step(id)
    const shown = await svc(t, ['broadcasts', 'show', id, '--json', '--account', who.account.id])
    expect(shown.json).toMatchObject({ status: 'cancelled', recipients: 0, reason: message })
    const cancelled = await svc(t, ['broadcasts', 'cancel', manual.id, '--yes', '--json', '--account', who.account.id])
    expect(cancelled.json).toMatchObject({ status: 'cancelled' })
    expect(cancelled.json).not.toHaveProperty('reason')
    expect(await t.app.sql('select from messages where account_id = $1', [who.account.id])).toEqual([])
  })
})

test('a segment whose list was deleted says so in lists; a broadcast to the list is cancelled for that reason', async () => {
  await segment('field.name = N1')
  const ids = [(await broadcast({ segment: 'Some' })).id, (await broadcast({ list: 'People' })).id]
  const signal = new AbortController().signal
  await deleteList(t.app, who.account.id, who.listId, { actor: 'cli:test', signal, onBatch: () => {} })
  expect(await work(listSegments)).toMatchObject([{ name: 'Some', listDeleted: true }])
  const args = ['segments', '--account', who.account.id]
  expect((await svc(t, args)).stdout.split('\t')[2]).toBe('deleted')
  for (const id of ids) {
    await step(id)
    expect(await show(id)).toMatchObject({ status: 'cancelled', reason: 'Its list was deleted' })
  }
  expect(await work((w) => deleteSegment(w, 'Some'))).toMatchObject({ name: 'Some' })
})

test('of two concurrent deletions of a segment, one finds none', async () => {
  const { id } = await segment('field.name = N1')
  const second = Promise.withResolvers<unknown>()
  await work(async (w) => {
    await deleteSegment(w, id)
    second.resolve(work((other) => deleteSegment(other, id)).catch((error) => error))
    await untilLocked(t.app.database, 1)
  })
  expect(await second.promise).toMatchObject({ kind: 'not_found' })
})

describe('an address in a stored filter', () => {
  const email = 'c1@people.example'

  test('is in the export of the address, and its erasure replaces it there, and no other one', async () => {
    const where = (address: string) =>
      `email = ${address} or email in ("${address.toUpperCase()}", x.${email}, ${email}.at) or field.ref = ${address} or email != ${address} and email ~ "c2@"`
    await segment(where(email))
    await segment('email = c2@people.example or email = ac1@people.example', 'Others')
    const { id } = await broadcast({ segment: 'Some' })
    expect(await count()).toBe(2)
    const personalData = await t.app.personalData()
    const person = await work((w) => readPerson(t.app, w, email))
    expect(person.segments).toMatchObject([{ name: 'Some', where: where(email) }])
    expect(person.broadcasts).toEqual([
      { id, name: 'Spring', filters: [{ list: 'People', segment: 'Some', where: where(email) }] },
    ])
    expect(await work((w) => countPersonalData(personalData, w, email))).toMatchObject({ segments: 1, broadcasts: 1 })
    await work((w) => eraseContact(w, email, { dryRun: true, personalData }))
    expect((await work((w) => findSegment(w, 'Some'))).where).toBe(where(email))
    await work((w) => eraseContact(w, email, { dryRun: false, personalData }))
    const erased = `email = @gone@ or email in ("@gone@", x.${email}, ${email}.at) or field.ref = @gone@ or email != @gone@ and email ~ "c2@"`
    expect((await work((w) => findSegment(w, 'Some'))).where).toBe(erased)
    expect((await show(id)).where).toBe(erased)
    expect((await work((w) => findSegment(w, 'Others'))).where).toContain('= ac1@people.example')
    // c2 still meets it, by the last comparison; nobody meets the replaced ones.
    expect(await count()).toBe(1)
    await step(id)
    expect(await show(id)).toMatchObject({ status: 'sending', recipients: 1 })
  })

  test('with characters that patterns use is found as written', async () => {
    const odd = 'a+b.c@people.example'
    await segment(`email = "${odd}" or email = "aab.c@people.example" or email = "a+bxc@people.example"`)
    await insert('suppressions', { email: odd, reason: 'manual', created_at: new Date() })
    const personalData = await t.app.personalData()
    await work((w) => eraseContact(w, odd, { dryRun: false, personalData }))
    expect((await work((w) => findSegment(w, 'Some'))).where).toBe(
      'email = "@gone@" or email = "aab.c@people.example" or email = "a+bxc@people.example"',
    )
  })

  test('leaves a filter of 4,000 characters usable, however short the address is', async () => {
    const short = 'a@b.co'
    const where = `email in (${short}, c2@people.example`.padEnd(3999).concat(')')
    expect(where).toHaveLength(4000)
    await segment(where)
    const { id } = await broadcast({ list: 'People', where })
    await insert('suppressions', { email: short, reason: 'manual', created_at: new Date() })
    const personalData = await t.app.personalData()
    await work((w) => eraseContact(w, short, { dryRun: false, personalData }))
    expect((await work((w) => findSegment(w, 'Some'))).where).not.toContain(short)
    expect(await count()).toBe(1)
    await step(id)
    expect(await show(id)).toMatchObject({ status: 'sending', recipients: 1 })
  })

  test('of another account stays', async () => {
    await segment(`email = ${email}`)
    const first = who
    who = await audience(t, 3)
    await work(async (w) => eraseContact(w, email, { dryRun: false, personalData: await t.app.personalData() }))
    who = first
    expect((await work((w) => findSegment(w, 'Some'))).where).toBe(`email = ${email}`)
  })
})

test('segments create --dry-run counts and writes nothing', async () => {
  const args = ['segments', 'create', '--name', 'Some', '--list', 'People', '--account', who.account.id, '--dry-run']
  const { status, json } = await svc(t, [...args, '--where', 'field.name ~ n and not field.name = N2', '--json'])
  expect({ status, json }).toMatchObject({
    status: 0,
    json: { dryRun: true, name: 'Some', listId: who.listId, count: 2 },
  })
  expect((await svc(t, [...args, '--where', 'plan = pro', '--json'])).status).toBe(2)
  expect(await t.app.sql('select from segments where account_id = $1', [who.account.id])).toEqual([])
})

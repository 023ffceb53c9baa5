import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  type BroadcastView,
  cancelBroadcast,
  createBroadcast,
  NewBroadcast,
  planBroadcast,
  sendBroadcast,
  showBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { createSegment, deleteSegment, updateSegment } from '../../src/segments/segments.ts'
import type { Work } from '../../src/store/work.ts'
import { applyProjects, deleteProject } from '../../src/studio/studio.ts'
import { useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { svc } from '../support/cli.ts'
import { untilLocked } from '../support/database.ts'
import { plainProject } from '../support/projects.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })

/** Three steps of contacts: N0, N1 and so on. 314 names begin with N1. */
const people = 1203
let who: Audience

beforeEach(async () => {
  who = await audience(t, people)
})
afterEach(async () => {
  await t.app.sql('delete from message_queue')
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(who.account.id, 'cli:test', run)
const create = (more: object) => work((w) => createBroadcast(w, NewBroadcast.parse({ project: 'Spring', ...more })))
const send = (id: string) => work((w) => sendBroadcast(t.app, w, id))
const step = (id: string) => work((w) => advanceBroadcast(t.app, w, id))
const steps = async (id: string) => {
  while ((await step(id))?.isMore);
}
const show = (id: string): Promise<BroadcastView> => work((w) => showBroadcast(w, id))
const queued = async (): Promise<string[]> =>
  (
    await t.app.sql<{ email: string }>(`select email from messages where account_id = $1 order by email`, [
      who.account.id,
    ])
  ).map(({ email }) => email)
const stored = async () =>
  (await t.app.sql('select from broadcast_recipients where account_id = $1', [who.account.id])).length
const setName = (name: string, ...emails: string[]) =>
  t.app.sql(
    `update contacts set fields = jsonb_build_object('name', $2::text) where account_id = $1 and email = any($3)`,
    [who.account.id, name, emails],
  )
const addresses = (numbers: readonly number[]) => numbers.map((n) => `c${n}@people.example`).sort()
const all = Array.from({ length: people }, (_, n) => n)

describe('the recipients of a broadcast with a filter', () => {
  test('are the contacts that meet it when sending begins, each once, whatever changes meanwhile', async () => {
    const where = 'field.name ~ N and not (field.name = N5)'
    const { id, ...view } = await create({ list: 'People', where })
    expect(view).toMatchObject({ listId: who.listId, where, recipients: people - 1 })
    expect(view).not.toHaveProperty('segmentId')
    await setName('X', 'c7@people.example')
    await send(id)
    expect((await show(id)).recipients).toBe(people - 2)
    await setName('X', 'c8@people.example')
    expect(await step(id)).toMatchObject({ isMore: true })
    expect((await queued()).length).toBe(500)
    // Before their turn: one no longer meets the filter, two meet it now, one is erased, and one is no longer active.
    await setName('X', 'c1100@people.example')
    await setName('N', 'c5@people.example', 'c7@people.example')
    await work((w) => eraseContact(w, 'c1101@people.example', { dryRun: false, personalData: [] }))
    await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email = 'c1102@people.example'`, [
      who.account.id,
    ])
    await steps(id)
    expect(await queued()).toEqual(addresses(all.filter((n) => ![5, 7, 8, 1101, 1102].includes(n))))
    expect(await show(id)).toMatchObject({ status: 'sending', queued: people - 5, recipients: people - 5 })
    expect(await stored()).toBe(0)
  })

  test('are decided before the first email is sent, so that emails that go out do not change them', async () => {
    const { id } = await create({ list: 'People', where: 'not sent in Spring < 1d' })
    await send(id)
    for (let isMore = true; isMore; ) {
      isMore = (await step(id))?.isMore ?? false
      await t.app.sql(`update messages set status = 'sent', finished_at = svc_now() where account_id = $1`, [
        who.account.id,
      ])
    }
    expect(await queued()).toEqual(addresses(all))
  })

  test('are queued once by steps that race and fail', async () => {
    const { id } = await create({ list: 'People', where: 'field.name ~ N1' })
    await send(id)
    const failing = () =>
      work(async (w) => {
        await advanceBroadcast(t.app, w, id)
        throw new Error('killed')
      }).catch((error: Error) => error.message)
    expect(await failing()).toBe('killed')
    expect([await stored(), await queued()]).toEqual([0, []])
    await step(id)
    expect(await failing()).toBe('killed')
    await Promise.all([steps(id), steps(id), steps(id)])
    await steps(id)
    const expected = addresses(all.filter((n) => `N${n}`.includes('N1')))
    expect(await queued()).toEqual(expected)
    expect(await show(id)).toMatchObject({ queued: expected.length, recipients: expected.length })
  })

  test('nobody meets it: the broadcast is done, and nothing is sent', async () => {
    const { id } = await create({ list: 'People', where: 'field.name = Nobody' })
    await send(id)
    await steps(id)
    expect([await show(id), await queued()]).toMatchObject([{ status: 'done', recipients: 0 }, []])
  })

  test('a cancelled broadcast drops those who wait', async () => {
    const { id } = await create({ list: 'People', where: 'field.name ~ N' })
    await send(id)
    await step(id)
    expect(await stored()).toBe(2)
    await work((w) => cancelBroadcast(w, id))
    await steps(id)
    expect(await stored()).toBe(0)
    expect(await show(id)).toMatchObject({ status: 'cancelled', queued: 0, failed: 500 })
  })

  test('a filter that names something deleted, or a deleted list, cancels the broadcast', async () => {
    const [other] = await work((w) => applyProjects(w, [plainProject('Other')]))
    const ids: string[] = []
    for (const where of ['not opened in Other < 30d', 'field.name ~ N']) {
      const { id } = await create({ list: 'People', where })
      await send(id)
      ids.push(id)
    }
    await work((w) => deleteProject(w, other!.id!))
    await steps(ids[0]!)
    const signal = new AbortController().signal
    await deleteList(t.app, who.account.id, who.listId, { actor: 'cli:test', signal, onBatch: () => {} })
    await steps(ids[1]!)
    for (const id of ids) expect(await show(id)).toMatchObject({ status: 'cancelled', recipients: 0 })
    expect([await queued(), await stored()]).toEqual([[], 0])
  })

  test('a mistake in the filter, and flags that don’t go together, are refused, and no draft is made', async () => {
    await work((w) => createSegment(w, { name: 'Ones', list: 'People', where: 'field.name ~ N1' }))
    for (const [given, message] of [
      [{ list: 'People', where: 'plan =' }, 'filter, column 1: unknown term'],
      [{ segment: 'Ones', where: 'field.name = x' }, 'where needs a list'],
      [{ list: 'People', all: true }, 'all can not be combined'],
      [{ where: 'field.name = x' }, 'A list, a segment or all is missing'],
      [{ segment: 'Nobody' }, 'There is no segment Nobody'],
    ] as const)
      await expect(create(given)).rejects.toThrow(message)
    expect(await t.app.sql('select from broadcasts where account_id = $1', [who.account.id])).toEqual([])
  })
})

describe('a segment', () => {
  let segmentId: string
  beforeEach(async () => {
    segmentId = (await work((w) => createSegment(w, { name: 'Ones', list: 'People', where: 'field.name ~ N1' }))).id
  })
  const remove = () => work((w) => deleteSegment(w, 'Ones'))

  test('is planned and sent by its name', async () => {
    const { id, ...view } = await create({ segment: 'Ones' })
    expect(view).toMatchObject({ listId: who.listId, segmentId, where: 'field.name ~ N1', recipients: 314 })
    const plan = await work((w) => planBroadcast(t.app, w, id))
    expect(plan).toMatchObject({ segmentId, audience: 'the segment Ones', recipients: 314, mails: 314 })
    await send(id)
    await steps(id)
    expect(await queued()).toHaveLength(314)
  })

  test('is taken with the filter that it has when sending begins', async () => {
    const other = await work((w) => createSegment(w, { name: 'Other', list: 'People', where: 'field.name = N1' }))
    const [one, several] = [await create({ segment: 'Ones' }), await create({ segment: ['Ones', other.id] })]
    const change = (where: string) => work((w) => updateSegment(w, 'Ones', { where }))
    await change('field.name = N2')
    expect(await show(one.id)).toMatchObject({ segmentId, where: 'field.name = N2' })
    expect(await work((w) => planBroadcast(t.app, w, several.id))).toMatchObject({ recipients: 2 })
    await send(one.id)
    await send(several.id)
    await change('field.name = N3')
    await steps(one.id)
    await steps(several.id)
    await change('field.name = N4')
    expect(await show(one.id)).toMatchObject({ where: 'field.name = N3', recipients: 1 })
    expect(await queued()).toEqual(addresses([1, 3, 3]))
  })

  test('is kept while an unsent broadcast uses it', async () => {
    const { id } = await create({ segment: 'Ones' })
    const refused = { kind: 'conflict', message: '1 unsent broadcast will use the segment Ones' }
    await expect(remove()).rejects.toMatchObject(refused)
    await send(id)
    await expect(remove()).rejects.toMatchObject(refused)
    await step(id)
    expect(await remove()).toMatchObject({ id: segmentId })
    await steps(id)
    expect(await queued()).toHaveLength(314)
  })

  test('is kept while the filter of an unsent broadcast names it, also that of another segment', async () => {
    const refused = { kind: 'conflict', message: '1 unsent broadcast will use the segment Ones' }
    const where = 'segment = Ones'
    await work((w) => createSegment(w, { name: 'Outer', list: 'People', where }))
    for (const more of [{ list: 'People', where }, { segment: 'Outer' }, { all: true, excludeSegment: 'Outer' }]) {
      const { id } = await create(more)
      await expect(remove()).rejects.toMatchObject(refused)
      await work((w) => cancelBroadcast(w, id))
    }
    expect(await remove()).toMatchObject({ id: segmentId })
  })

  test('is not deleted while a draft for it is being made', async () => {
    let deleting: Promise<unknown> | undefined
    await work(async (w) => {
      await createBroadcast(w, NewBroadcast.parse({ project: 'Spring', segment: 'Ones' }))
      deleting = remove().catch((error) => error.kind)
      await untilLocked(t.app.database, 1)
    })
    expect(await deleting).toBe('conflict')
  })

  test('is the audience of svc broadcasts create', async () => {
    const svcOf = (...args: string[]) => svc(t, ['--account', who.account.id, 'broadcasts', 'create', ...args])
    const args = ['--segment', 'Ones', '--project', 'Spring', '--json']
    const asked = await svcOf(...args, '--send')
    expect(asked).toMatchObject({ status: 2, stderr: expect.stringContaining('email 314 people of the segment Ones') })
    const dry = await svcOf(...args, '--dry-run')
    expect(dry.stderr).toContain('make a draft that can email 314 people of the segment Ones')
    expect(dry.json).toMatchObject({ dryRun: true, segmentId, mails: 314 })
    expect(await t.app.sql('select from broadcasts where account_id = $1', [who.account.id])).toEqual([])
    expect((await svcOf(...args)).json).toMatchObject({ status: 'draft', segmentId, where: 'field.name ~ N1' })
    const filtered = await svcOf('--list', 'People', '--where', 'field.name = N1', '--project', 'Spring', '--send')
    expect(filtered.stderr).toContain('email 1 person of the list People that meet the filter')
    expect(await svcOf('--where', 'field.name = N1', '--project', 'Spring')).toMatchObject({ status: 2 })
    const deleted = await svc(t, ['--account', who.account.id, 'segments', 'delete', 'Ones', '--yes'])
    expect(deleted).toMatchObject({ status: 6, stderr: expect.stringContaining('1 unsent broadcast') })
  })
})

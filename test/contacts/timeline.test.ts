import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TimelineEntry } from '../../src/contacts/contacts.timeline.ts'
import { createList, eraseContact, readTimeline } from '../../src/contacts/contacts.ts'
import { upsertContact } from '../../src/contacts/write/upsert.ts'
import { type TestAccount, type TestApp, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'

const t = useApp()
const ada = 'ada@people.example'
const start = Date.parse('2026-03-01T10:00:00Z')
const minute = (n: number) => new Date(start + n * 60_000)

const insert = ({ app: { sql } }: TestApp, account: string, table: string, row: Record<string, unknown>) => {
  const all = Object.entries({ account_id: account, ...row })
  return sql(
    `insert into ${table} (${all.map(([name]) => name)}) values (${all.map((_, i) => `$${i + 1}`)})`,
    all.map(([, value]) => value),
  )
}

/** Writes one of everything that a timeline has, one minute after another, and returns the entries, newest first. */
const writePast = async (account: string, email: string, mark: string) => {
  const add = (table: string, row: Record<string, unknown>) => insert(t, account, table, row)
  let n = 0
  const entries: TimelineEntry[] = []
  const expectNext = (kind: string, title: string, id: string) => {
    const at = minute(++n)
    entries.unshift({ at: at.getTime(), kind, title, id })
    return at
  }
  const list = `lst_${mark}`
  const rowId = `row_${mark}`
  const common = { created_at: minute(0), updated_at: minute(0) }
  await add('contact_lists', {
    id: list,
    name: `People ${mark}`,
    fields: ['consent_at', 'consent_source'],
    row_count: 1,
    ...common,
  })
  await add('addresses', { email, row_id: rowId, domain: 'people.example' })
  const consented = expectNext('consent.given', 'Fair 2026', list)
  await add('contacts', {
    ...{ row_id: rowId, list_id: list, email, status: 'active', updated_at: minute(0) },
    fields: { consent_at: consented.toISOString(), consent_source: 'Fair 2026' },
    created_at: expectNext('contact.added', `People ${mark}`, list),
  })
  const mail = async (status: string, finished: Date | null) => {
    const id = `msg_${mark}${String(n).padStart(4, '0')}`
    await add('messages', {
      ...{ id, source_kind: 'send', type: 'marketing', email, subject: `Mail ${n}`, status, project_id: 'prj_1' },
      ...{ created_at: minute(0), finished_at: finished },
    })
    return id
  }
  const [sent] = [await mail('sent', minute(3))]
  expectNext('email.sent', 'Mail 2', sent)
  await mail('failed', minute(4))
  expectNext('email.failed', 'Mail 3', `msg_${mark}0003`)
  await mail('suppressed', minute(5))
  expectNext('email.suppressed', 'Mail 4', `msg_${mark}0004`)
  await mail('pending', null)
  const interaction = (kind: string, at: Date, isBot = false) =>
    add('interactions', {
      ...{ message_id: sent, kind, block_id: kind === 'open' ? '' : 'b', link: '', is_bot: isBot, project_id: 'prj_1' },
      ...{ id: `int_${mark}${n}${kind}`, email, value: null, at },
    })
  await interaction('open', expectNext('email.opened', 'Mail 2', sent))
  await interaction('open', minute(100), true)
  await interaction('click', expectNext('email.clicked', 'Mail 2', sent))
  await interaction('vote', expectNext('email.answered', 'Mail 2', sent))
  await interaction('booking', minute(100))
  await interaction('purchase', minute(100))
  await add('bookings', {
    ...{
      id: `bkg_${mark}`,
      project_id: 'prj_1',
      message_id: sent,
      block_id: 'b',
      status: 'cancelled',
      title: 'A call',
    },
    ...{ start_at: minute(0), end_at: minute(1), timezone: 'UTC', name: 'Ada', email, sequence: 1 },
    created_at: expectNext('booking.created', 'A call', `bkg_${mark}`),
    cancelled_at: expectNext('booking.cancelled', 'A call', `bkg_${mark}`),
    updated_at: minute(0),
  })
  await add('payment_orders', {
    ...{ id: `ord_${mark}`, message_id: sent, block_id: 'b', project_id: 'prj_1', project_version: 1, email },
    ...{ currency: 'EUR', amount: 12.5, provider: 'test', status: 'paid' },
    items: JSON.stringify([
      { name: 'Book', quantity: 1, amount: 2.5 },
      { name: 'Ticket', quantity: 1, amount: 10 },
    ]),
    created_at: expectNext('order.created', '12.50 EUR: Book, Ticket', `ord_${mark}`),
    paid_at: expectNext('order.paid', '12.50 EUR: Book, Ticket', `ord_${mark}`),
  })
  await add('pipelines', { id: `pipe_${mark}`, name: `Sales ${mark}`, is_default: false, created_at: minute(0) })
  for (const [position, [name, kind]] of [
    ['Lead', 'open'],
    ['Talks', 'open'],
    ['Won', 'won'],
    ['Lost', 'lost'],
  ].entries())
    await add('stages', { id: `stg_${name}${mark}`, pipeline_id: `pipe_${mark}`, name, position, kind })
  await add('deals', {
    ...{ id: `deal_${mark}`, title: 'Big', value: 1, currency: 'EUR', pipeline_id: `pipe_${mark}`, moves: 4 },
    ...{
      stage_id: `stg_Lost${mark}`,
      status: 'lost',
      source: 'manual',
      list_id: list,
      row_id: rowId,
      email,
      ...common,
    },
  })
  const stages = [null, 'Lead', 'Talks', 'Won', 'Lost']
  for (const [i, [kind, title]] of [
    ['created', 'Big'],
    ['moved', 'Big → Talks'],
    ['won', 'Big'],
    ['lost', 'Big'],
  ].entries())
    await add('deal_history', {
      ...{ deal_id: `deal_${mark}`, number: i + 1, actor: 'cli:test', to_stage_id: `stg_${stages[i + 1]}${mark}` },
      from_stage_id: stages[i] && `stg_${stages[i]}${mark}`,
      at: expectNext(`deal.${kind}`, title!, `deal_${mark}`),
    })
  const journey = { id: `jrn_${mark}`, name: `Welcome ${mark}` }
  await add('journeys', { ...journey, enabled: true, trigger_kind: 'manual', version: 1, ...common })
  await add('journey_runs', {
    ...{ id: `run_${mark}`, journey_id: journey.id, version: 1, list_id: list, row_id: rowId, email, status: 'exited' },
    ...{ due_at: minute(0), context: {} },
    entered_at: expectNext('journey.entered', journey.name, `run_${mark}`),
    ended_at: expectNext('journey.ended', `${journey.name} (exited)`, `run_${mark}`),
  })
  await add('form_signups', {
    ...{ row_id: rowId, list_id: list, form_id: `form_${mark}`, form_name: 'Newsletter' },
    mailed_at: expectNext('form.submitted', 'Newsletter', `form_${mark}`),
  })
  await add('activities', {
    ...{ id: `act_${mark}`, email, name: 'plan.upgraded' },
    at: expectNext('event.reported', 'plan.upgraded', `act_${mark}`),
  })
  for (const [i, status] of ['confirmed', 'waitlisted', 'cancelled'].entries()) {
    const id = `web_${mark}${i}`
    await add('webinars', {
      ...{ id, title: `Talk ${i}`, access_mode: 'registration', status: 'scheduled', ...common },
      ...{ registered_count: 0, waitlisted_count: 0, last_number: 0 },
    })
    const kind = status === 'waitlisted' ? 'waitlisted' : 'registered'
    await add('webinar_registrations', {
      ...{ id: `reg_${mark}${i}`, webinar_id: id, email, name: '', status, number: 1 },
      created_at: expectNext(`webinar.${kind}`, `Talk ${i}`, id),
      updated_at: status === 'cancelled' ? expectNext('webinar.cancelled', `Talk ${i}`, id) : minute(100),
    })
  }
  const course = `crs_${mark}`
  await add('courses', { id: course, title: 'Baking', published: true, ...common })
  await add('lessons', { id: `les_${mark}`, course_id: course, title: 'Bread', content: '', position: 1 })
  await add('members', { id: `sub_${mark}`, email, created_at: minute(0) })
  const enrolled = expectNext('course.enrolled', 'Baking', course)
  await add('finished_lessons', {
    ...{ member_id: `sub_${mark}`, course_id: course, lesson_id: `les_${mark}` },
    finished_at: expectNext('lesson.finished', 'Bread', `les_${mark}`),
  })
  await add('course_completions', {
    ...{ member_id: `sub_${mark}`, course_id: course },
    completed_at: expectNext('course.completed', 'Baking', course),
  })
  await add('enrolments', {
    ...{ member_id: `sub_${mark}`, course_id: course, active: false, created_at: enrolled },
    updated_at: expectNext('course.revoked', 'Baking', course),
  })
  const topic = { name: `News ${mark}`, description: '', created_at: minute(0) }
  await add('topics', { id: `top_${mark}`, ...topic })
  await add('topics', { id: `top_gone${mark}`, ...topic, deleted_at: minute(0) })
  await add('suppressions', {
    ...{ email, reason: 'unsubscribed', topic_id: `top_gone${mark}`, created_at: minute(1) },
  })
  await add('suppressions', {
    ...{ email, reason: 'unsubscribed', topic_id: `top_${mark}` },
    created_at: expectNext('topic.left', `News ${mark}`, `top_${mark}`),
  })
  await add('suppressions', {
    ...{ email, reason: 'unsubscribed' },
    created_at: expectNext('address.suppressed', 'unsubscribed', email),
  })
  return entries
}

const read = (account: TestAccount, email = ada, limit = 1_000) =>
  t.app.work(account.id, 'cli:test', (work) => readTimeline(t.app, work, email, limit))

describe('a person’s past', () => {
  let account: TestAccount
  let stranger: TestAccount
  let past: TimelineEntry[]

  beforeAll(async () => {
    account = await t.account()
    stranger = await t.account()
    past = await writePast(account.id, ada, 'a')
    await writePast(account.id, 'bob@people.example', 'b')
    await writePast(stranger.id, ada, 'x')
  })

  test('has everything, newest first, of this address and account only', async () => {
    expect((await read(account)).timeline).toEqual(past)
    expect((await read(stranger)).timeline).toHaveLength(past.length)
    expect((await read(stranger)).timeline.some(({ id }) => past.some((entry) => entry.id === id && id !== ada))).toBe(
      false,
    )
  })

  test('a limit cuts the oldest', async () => {
    for (const limit of [1, 2, 7, past.length])
      expect((await read(account, ada, limit)).timeline).toEqual(past.slice(0, limit))
  })

  test('svc contacts show --timeline prints it with the contacts', async () => {
    const args = ['contacts', 'show', ada, '--timeline', '--account', account.id]
    const { status, json } = await svc(t, [...args, '--limit', '5', '--json'])
    expect({ status, json }).toEqual({
      status: 0,
      json: {
        timeline: past.slice(0, 5),
        contacts: [expect.objectContaining({ email: ada, suppression: 'unsubscribed' })],
      },
    })
    const plain = await svc(t, args)
    expect(plain.stdout.split('\n')[0]).toBe(
      `${new Date(past[0]!.at).toISOString()}\taddress.suppressed\tunsubscribed\t${ada}`,
    )
    expect(plain.stdout.trim().split('\n')).toHaveLength(past.length)
  })

  test.each([
    [['--limit', '5'], '--limit requires --timeline'],
    [['--timeline', '--limit', '0'], '--limit must be a whole number from 1 to 1000'],
    [['--timeline', '--limit', '1001'], '--limit must be a whole number from 1 to 1000'],
  ])('%j is a mistake', async (flags, sentence) => {
    const { status, stderr } = await svc(t, ['contacts', 'show', ada, ...flags, '--account', account.id])
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(sentence) })
  })

  test('a person sees each day once', async () => {
    const args = ['contacts', 'show', ada, '--timeline', '--limit', '3', '--account', account.id]
    const { status, text } = await svc(t, args, { tty: { columns: 120 } })
    expect(status).toBe(0)
    expect(text.match(/1 Mar 2026/g)).toHaveLength(1)
    expect(text).toContain('The newest 3 entries: --limit shows more.')
  })

  test('an address that left the account still has its past; one without any is not found', async () => {
    const gone = await t.account()
    await insert(t, gone.id, 'messages', {
      ...{ id: 'msg_gone', source_kind: 'send', type: 'marketing', email: ada, subject: 'Bye', status: 'sent' },
      ...{ created_at: minute(0), finished_at: minute(1) },
    })
    expect(await read(gone)).toEqual({
      contacts: [],
      timeline: [{ at: minute(1).getTime(), kind: 'email.sent', title: 'Bye', id: 'msg_gone' }],
    })
    const { status } = await svc(t, ['contacts', 'show', 'nobody@people.example', '--timeline', '--account', gone.id])
    expect(status).toBe(3)
  })

  test('an erased address has no past', async () => {
    const erased = await t.account()
    await writePast(erased.id, ada, 'e')
    const personalData = await t.app.personalData()
    await t.app.work(erased.id, 'cli:test', (work) => eraseContact(work, ada, { dryRun: false, personalData }))
    // Suppressions stay, so that the address gets no email.
    expect((await read(erased)).timeline.map(({ kind }) => kind)).toEqual(['address.suppressed', 'topic.left'])
  })
})

describe('a consent without a time zone', () => {
  const before = process.env.TZ
  beforeAll(() => {
    process.env.TZ = 'Asia/Kolkata'
  })
  afterAll(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })

  test.each([
    ['2026-03-01T10:00', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01 10:00:30.5', '2026-03-01T10:00:30.500Z'],
    ['2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T10:00:00+01:00', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01 10:00:00+01', '2026-03-01T09:00:00.000Z'],
  ])('%s is %s, wherever the process runs', async (given, at) => {
    expect(new Date('2026-03-01T10:00').toISOString()).toBe('2026-03-01T04:30:00.000Z')
    const { id } = await t.account()
    const write = { email: ada, fields: { consent_at: given } }
    const list = await t.app.work(id, 'cli:test', (work) => createList(work, { name: 'Fair' }))
    await upsertContact(t.app, id, 'cli:test', { listId: list.id, ...write })
    const { timeline } = await readTimeline(t.app, { sql: t.app.sql, accountId: id }, ada, 10)
    expect(timeline.filter(({ kind }) => kind === 'consent.given')).toMatchObject([{ at: Date.parse(at) }])
  })
})

test('entries of one time are in the order of their ids, whatever the limit', async () => {
  const account = await t.account()
  for (let i = 0; i < 60; i++)
    await insert(t, account.id, 'messages', {
      ...{
        id: `msg_tie${String(i).padStart(3, '0')}`,
        source_kind: 'send',
        type: 'marketing',
        email: ada,
        subject: '',
      },
      ...{ status: 'sent', created_at: minute(0), finished_at: minute(i % 3) },
    })
  const { timeline } = await read(account)
  const ordered = [...timeline].sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
  expect(timeline).toEqual(ordered)
  for (const limit of [1, 19, 20, 21, 59])
    expect((await read(account, ada, limit)).timeline).toEqual(ordered.slice(0, limit))
})

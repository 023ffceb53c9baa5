// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { rolledBack } from '../../../src/cli/trial.ts'
import { emit } from '../../../src/events/emit.ts'
import { sampleEvent } from '../../../src/events/samples.ts'
import { type Rehearsal, rehearse } from '../../../src/journeys/engine/rehearsal.ts'
import { triggerJourney } from '../../../src/journeys/journeys.ts'
import { addSender } from '../../../src/senders/senders.ts'
import type { Work } from '../../../src/store/work.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import type { SuppressionReason } from '../../../src/suppressions/suppressions.ts'
import { suppressAddresses } from '../../../src/suppressions/suppressions.ts'
import { useApp } from '../../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../../support/journeys.ts'
import { plainProject, plainProjects } from '../../support/projects.ts'

const clock = testClock()
const studio = plainProjects()
let bench: JourneyBench
let listId: string
let projectId: string

const target = useApp({
  now: clock.now,
  projects: studio.projects,
  env: { SVC_SMTP_URL: 'smtp://127.0.0.1:1' },
})
beforeAll(async () => {
  await target.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('example.com', 'mx', '2030-01-01')`,
  )
})
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
  projectId = await bench.work(async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
    return (await applyProjects(work, [plainProject('Welcome')]))[0]!.id!
  })
  studio.add(bench.account.id, projectId, 'Welcome, {{ name }}')
})

const mail = { kind: 'send-email', project: 'Welcome' }
const onAdded = (steps: object[], more: object = {}) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, ...more, steps })

const messages = () =>
  target.app.sql<Record<string, unknown>>(
    `select id, key, source_kind as kind, source_id as source, type, email, subject, status, reason, error,
       project_id as project, merge_data as data
     from messages where account_id = $1 order by email, key`,
    [bench.account.id],
  )
const outcomes = async (journey: string) =>
  (await bench.runs(journey)).map(({ status, log }) => [status, ...log.map(({ outcome }) => outcome)])
const usedVolume = async () => {
  const [row] = await target.app.sql<{ used: number }>(
    `select used from quota_uses where account_id = $1 and quota = 'sends'`,
    [bench.account.id],
  )
  return row?.used ?? 0
}
const suppress = (email: string, reason: SuppressionReason) =>
  bench.work((work) => suppressAddresses(work, [email], reason))

test('data of a trigger fills tags and decides branches before fields of the contact, in that run only', async () => {
  const steps = [
    {
      kind: 'branch',
      if: { field: 'plan', equals: 'pro' },
      then: [
        { kind: 'update-field', field: 'note', value: '{{ plan }} {{ order }}' },
        { kind: 'create-deal', title: 'Order {{ order }} of {{ name }}' },
      ],
      else: [],
    },
    { ...mail, subject: '{{ name }}, {{ plan }}, {{ order | "none" }}' },
  ]
  const journey = await bench.apply({ name: 'J', trigger: { kind: 'api' }, reentry: 'always', steps })
  await bench.add(listId, ['ada@example.com'], { name: 'Ada', plan: 'free' })
  const by = { accountId: bench.account.id, actor: 'cli:test', by: 'api' as const }
  const enter = (data?: Record<string, string>) =>
    triggerJourney(target.app, by, journey, { email: 'ada@example.com', listId, ...(data && { data }) })
  await enter({ plan: 'pro', order: '7' })
  await enter()
  await bench.drain()
  const sent = await messages()
  expect(sent.map(({ subject }) => subject).toSorted()).toEqual(['Ada, free, none', 'Ada, pro, 7'])
  expect(sent.map(({ data }) => data)).toContainEqual({
    email: 'ada@example.com',
    name: 'Ada',
    plan: 'pro',
    order: '7',
    note: 'pro 7',
  })
  const [contact] = await bench.contacts('ada@example.com')
  expect(contact!.fields).toMatchObject({ plan: 'free', note: 'pro 7' })
  const deals = await target.app.sql('select title from deals where account_id = $1', [bench.account.id])
  expect(deals).toEqual([{ title: 'Order 7 of Ada' }])
})

test('an email of a run has its contact’s fields and address and its journey, one per run and step', async () => {
  const journey = await onAdded([{ ...mail, subject: 'For {{ name }} <{{ email }}>' }])
  await bench.add(listId, ['ada@example.com'], { name: '{{ email }}', plan: 'pro' })
  await bench.drain()
  expect(await outcomes(journey)).toEqual([['completed', 'queued']])
  const [run] = await bench.runs(journey)
  expect(await messages()).toEqual([
    {
      id: expect.stringMatching(/^msg_/),
      key: `run:${run!.id}:0`,
      kind: 'journey',
      source: journey,
      type: 'marketing',
      email: 'ada@example.com',
      // A tag inside a value is not filled.
      subject: 'For {{ email }} <ada@example.com>',
      status: 'pending',
      reason: null,
      error: null,
      project: projectId,
      data: { email: 'ada@example.com', name: '{{ email }}', plan: 'pro' },
    },
  ])
})

test('the project’s name is the default subject; two steps send two emails, and so do two runs', async () => {
  await onAdded([mail, { ...mail, type: 'transactional' }], { reentry: 'always' })
  await bench.add(listId, ['ada@example.com', 'bob@example.com'], { name: 'N' })
  await bench.drain()
  const rows = await messages()
  expect(rows.map(({ email, type, subject }) => [email, type, subject])).toEqual([
    ['ada@example.com', 'marketing', 'Welcome, N'],
    ['ada@example.com', 'transactional', 'Welcome, N'],
    ['bob@example.com', 'marketing', 'Welcome, N'],
    ['bob@example.com', 'transactional', 'Welcome, N'],
  ])
  expect(await usedVolume()).toBe(4)
})

test('a suppressed contact gets no email, which is logged as the outcome and uses no quota; the run continues', async () => {
  const journey = await onAdded([
    mail,
    { ...mail, type: 'transactional' },
    { kind: 'update-field', field: 'a', value: 1 },
  ])
  await suppress('ada@example.com', 'unsubscribed')
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  expect(await outcomes(journey)).toEqual([['completed', 'suppressed: unsubscribed', 'queued', 'updated']])
  expect((await messages()).map(({ status, reason }) => [status, reason])).toEqual([
    ['suppressed', 'unsubscribed'],
    ['pending', null],
  ])
  expect(await usedVolume()).toBe(1)
})

test('an email that can’t be sent is listed with its reason, and the run continues', async () => {
  const journey = await onAdded([mail, { kind: 'update-field', field: 'a', value: 1 }])
  await target.app.sql('delete from senders where account_id = $1', [bench.account.id])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  const why = 'from is required: the account has no default sender'
  expect(await outcomes(journey)).toEqual([['completed', `failed: ${why}`, 'updated']])
  expect(await messages()).toMatchObject([{ status: 'failed', error: why }])
  expect(await usedVolume()).toBe(0)
})

test('an exhausted quota fails the emails beyond it, not their runs', async () => {
  await target.app.sql(
    `insert into plans select 'two sends', 8, null, 2, null, null, null, true on conflict do nothing`,
  )
  await target.app.sql(`update accounts set plan = 'two sends' where id = $1`, [bench.account.id])
  const journey = await onAdded([mail])
  await bench.add(listId, ['a@example.com', 'b@example.com', 'c@example.com'])
  await bench.drain()
  expect((await outcomes(journey)).map(([status, outcome]) => [status, outcome]).sort()).toEqual([
    ['completed', 'failed: Monthly send quota for your plan exceeded'],
    ['completed', 'queued'],
    ['completed', 'queued'],
  ])
})

test('a deleted project is reported in the step log, and the run continues', async () => {
  const journey = await onAdded([{ kind: 'delay', for: '1d' }, mail, { kind: 'update-field', field: 'a', value: 1 }])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  studio.remove(bench.account.id, projectId)
  await target.app.sql('update projects set deleted_at = now() where id = $1', [projectId])
  clock.advance(day)
  await bench.drain()
  expect(await outcomes(journey)).toEqual([['completed', 'waited', 'failed: There is no such project', 'updated']])
  expect(await messages()).toMatchObject([{ status: 'failed', error: 'There is no such project' }])
})

test('a version that was stored with the project’s name finds the project when it sends', async () => {
  const journey = await onAdded([mail])
  await target.app.sql(
    `update journey_versions set definition = jsonb_set(definition, '{steps,0,project}', '"Welcome"') where journey_id = $1`,
    [journey],
  )
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  expect(await outcomes(journey)).toEqual([['completed', 'queued']])
  expect(await messages()).toMatchObject([{ project: projectId, status: 'pending' }])
})

test('the wait for a reaction begins in the transaction that inserts the email', async () => {
  const journey = await onAdded([
    mail,
    {
      kind: 'wait-for',
      event: 'interaction.received',
      where: { 'interaction.kind': 'click' },
      timeout: '2d',
      then: [{ kind: 'update-field', field: 'side', value: 'then' }],
      else: [{ kind: 'update-field', field: 'side', value: 'else' }],
    },
  ])
  // Answers the email as soon as it is visible.
  const react = async (email: string) => {
    for (;;) {
      const seen = await target.app.sql('select from messages where account_id = $1 and email = $2', [
        bench.account.id,
        email,
      ])
      if (seen.length > 0) break
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const sample = sampleEvent('interaction.received', { now: 0 }).data
    await bench.work((work) =>
      emit(work, 'interaction.received', () => [
        { ...sample, interaction: { ...sample.interaction, kind: 'click' }, recipient: { email, rowId: null } },
      ]),
    )
  }
  await bench.add(listId, ['quick@example.com', 'never@example.com'])
  const reacting = react('quick@example.com')
  await bench.drain()
  await reacting
  await bench.drain()
  clock.advance(2 * day)
  await bench.drain()
  const logs = Object.fromEntries((await bench.runs(journey)).map(({ email, log }) => [email, log[1]!.outcome]))
  expect(logs).toEqual({
    'quick@example.com': 'interaction.received came',
    'never@example.com': 'no interaction.received in 2d',
  })
  expect(await messages()).toHaveLength(2)
})

test('exit rule unsubscribed ends the runs of contacts that unsubscribe, suppressed those of every other reason', async () => {
  const waits = [{ kind: 'delay', for: '1d' }, mail]
  const trigger = { kind: 'list-added', list: 'Leads' }
  const unsubscribed = await bench.apply({ name: 'U', trigger, exitOn: ['unsubscribed'], steps: waits })
  const suppressed = await bench.apply({ name: 'S', trigger, exitOn: ['suppressed'], steps: waits })
  const neither = await bench.apply({ name: 'N', trigger, steps: waits })
  const reasons = ['unsubscribed', 'complained', 'bounced', 'manual'] as const
  await bench.add(
    listId,
    [...reasons, 'nobody'].map((name) => `${name}@example.com`),
  )
  await bench.drain()
  for (const reason of reasons) await suppress(`${reason}@example.com`, reason)
  const ended = async (journey: string) =>
    (await bench.runs(journey)).flatMap(({ email, status, reason }) =>
      status === 'exited' ? `${email.split('@')[0]}: ${reason}` : [],
    )
  expect(await ended(unsubscribed)).toEqual(['unsubscribed: exit rule: unsubscribed'])
  expect((await ended(suppressed)).sort()).toEqual(
    ['bounced', 'complained', 'manual'].map((reason) => `${reason}: exit rule: suppressed`),
  )
  expect(await ended(neither)).toEqual([])
})

test('suppressing 500 addresses at once ends their runs in this account only, and suppressing one again ends no run', async () => {
  const other = await journeyBench(target)
  const theirs = await other.list('Leads')
  const emails = Array.from({ length: 500 }, (_, i) => `c${i}@example.com`)
  const definition = { name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, exitOn: ['suppressed'] }
  const steps = [{ kind: 'delay', for: '1d' }]
  const [journey, kept] = [await bench.apply({ ...definition, steps }), await other.apply({ ...definition, steps })]
  await other.add(theirs, emails.slice(0, 5))
  await bench.add(listId, emails)
  await bench.work((work) => suppressAddresses(work, emails, 'manual'))
  expect((await bench.runs(journey)).every(({ status }) => status === 'exited')).toBe(true)
  expect((await other.runs(kept)).every(({ status }) => status === 'running')).toBe(true)
  const again = await bench.list('Leads 2')
  await bench.apply({ ...definition, trigger: { kind: 'list-added', list: again }, steps })
  await bench.add(again, ['c1@example.com'])
  await suppress('c1@example.com', 'manual')
  const open = (await bench.runs(journey)).filter(({ status }) => status === 'running')
  expect(open.map(({ email }) => email)).toEqual(['c1@example.com'])
})

const countRows = async () => {
  const tables = await target.app.sql<{ name: string }>(
    `select relname::text as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 1`,
  )
  const [row] = await target.app.sql(
    `select ${tables.map(({ name }) => `(select count(*) from "${name}") as "${name}"`).join(', ')}`,
  )
  return row
}
const rehearseFile = async (document: unknown, data = {}, email = 'ada@example.com') => {
  const sendMails = await target.app.journeyMails()
  return rolledBack<Work, Rehearsal>(
    (trial) => target.app.work<never>(bench.account.id, 'cli:test', trial),
    (work) => rehearse(work, sendMails, { document, urlFaults: [], email, data }),
  )
}

test('a rehearsal walks through waits, branches, webhooks and emails with their times, and writes nothing', async () => {
  await bench.add(listId, ['ada@example.com'], { name: 'Ada', plan: 'free' })
  const document = {
    name: 'J',
    trigger: { kind: 'lead-hot' },
    exitOn: ['list-removed'],
    steps: [
      { kind: 'delay', for: '2d' },
      {
        kind: 'branch',
        if: { field: 'plan', equals: 'pro' },
        then: [{ ...mail, subject: 'For {{ name }}, {{ order }}' }],
        else: [{ kind: 'exit' }],
      },
      { kind: 'webhook', url: 'https://hooks.example.com/x', body: { order: '{{ order }}' } },
      { kind: 'wait-for', event: 'deal.created', timeout: '1d', then: [{ kind: 'exit' }], else: [] },
      { kind: 'update-field', field: 'note', value: '{{ order }}' },
      { kind: 'branch', if: { field: 'note', exists: true }, then: [{ kind: 'create-deal', title: '{{ note }}' }] },
      { kind: 'split', percent: 100, a: [{ kind: 'remove-from-list', list: 'Leads' }], b: [] },
      mail,
    ],
  }
  const before = await countRows()
  const contact = await bench.contacts('ada@example.com')
  const startMs = clock.now().getTime()
  const { steps, ...rest } = await rehearseFile(document, { plan: 'pro', order: '7' })
  const assumed = { status: 'exited', reason: 'exit rule: list-removed', endedAt: startMs + 3 * day }
  expect(rest).toEqual({ journey: 'J', email: 'ada@example.com', listId, ...assumed })
  const subject = 'For Ada, 7'
  expect(steps.map(({ at, step, outcome, detail }) => [(at - startMs) / day, step, outcome, detail])).toEqual([
    [0, 'steps[0]', 'waits', null],
    [2, 'steps[1]', 'then', 'plan is "pro"; the condition is equals "pro"'],
    [2, 'steps[1].then[0]', 'would be sent', `"${subject}", project Welcome, marketing`],
    [2, 'steps[2]', 'would be posted; an answer of 200 is assumed', 'POST https://hooks.example.com/x'],
    [2, 'steps[3]', 'else', 'assumed: no deal.created in 1d'],
    [3, 'steps[4]', 'updated', 'note = "7"'],
    [3, 'steps[5]', 'then', 'note is "7"; the condition is exists true'],
    [3, 'steps[5].then[0]', 'would be created', '7'],
    [3, 'steps[6]', 'a', 'at random: 100 % take side a'],
    [3, 'steps[6].a[0]', 'removed', 'Leads'],
  ])
  expect(steps[2]!.email).toEqual({ to: 'ada@example.com', type: 'marketing', project: 'Welcome', subject })
  expect(steps[3]!.webhook).toEqual({ url: 'https://hooks.example.com/x', body: { order: '7' } })
  expect(steps[0]!.until).toBe(startMs + 2 * day)
  const free = await rehearseFile(document)
  expect(free.steps.map(({ outcome }) => outcome)).toEqual(['waits', 'else', 'exited'])
  expect(free.steps[1]!.detail).toBe('plan is "free"; the condition is equals "pro"')
  expect([await countRows(), await bench.contacts('ada@example.com')]).toEqual([before, contact])
})

test('a rehearsal asks the filter of a branch at the time of the step', async () => {
  await bench.add(listId, ['ada@example.com'], { plan: 'free' })
  const branch = { kind: 'branch', where: 'created > 1d and plan = free', then: [{ kind: 'exit' }] }
  const steps = [{ ...branch, then: [], else: [{ kind: 'delay', for: '2d' }] }, branch]
  const rehearsed = await rehearseFile({ name: 'J', trigger: { kind: 'api' }, steps })
  expect(rehearsed.steps.map(({ step, outcome, detail }) => [step, outcome, detail])).toEqual([
    ['steps[0]', 'else', 'the filter is created > 1d and plan = free'],
    ['steps[0].else[0]', 'waits', null],
    ['steps[1]', 'then', 'the filter is created > 1d and plan = free'],
    ['steps[1].then[0]', 'exited', null],
  ])
})

test('a rehearsal says that a suppressed address gets no email, and refuses a bad file and an unknown address', async () => {
  await bench.add(listId, ['ada@example.com'])
  await suppress('ada@example.com', 'complained')
  const document = { name: 'J', trigger: { kind: 'api' }, steps: [mail] }
  const { steps, status } = await rehearseFile(document)
  expect([steps.map(({ outcome }) => outcome), status]).toEqual([['suppressed: complained'], 'completed'])
  await expect(rehearseFile({ ...document, steps: [{ ...mail, project: 'None' }] })).rejects.toMatchObject({
    kind: 'invalid',
  })
  await expect(rehearseFile(document, {}, 'none@example.com')).rejects.toMatchObject({ kind: 'not_found' })
})

test('a step names its sender, by id or address, and its Reply-To; one that the account may not use is refused', async () => {
  const { id } = await bench.work((work) =>
    addSender(work, { email: 'news@shop.example', name: 'News', replyTo: 'desk@shop.example' }),
  )
  await onAdded([
    { ...mail, sender: 'news@shop.example' },
    { ...mail, sender: id, replyTo: 'Ada@shop.example' },
    { ...mail, replyTo: 'bob@shop.example' },
  ])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  const rows = await target.app.sql(
    'select from_email as "from", from_name as name, reply_to as "replyTo" from messages where account_id = $1 order by key',
    [bench.account.id],
  )
  expect(rows).toEqual([
    { from: 'news@shop.example', name: 'News', replyTo: 'desk@shop.example' },
    { from: 'news@shop.example', name: 'News', replyTo: 'ada@shop.example' },
    { from: 'hello@shop.example', name: 'The Shop', replyTo: 'bob@shop.example' },
  ])
  for (const more of [{ sender: 'ceo@bank.example' }, { sender: 'snd_unknown' }, { replyTo: 'nobody' }])
    await expect(onAdded([{ ...mail, ...more }])).rejects.toThrow(Object.keys(more)[0]!)
})

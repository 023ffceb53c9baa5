// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for one side of a step
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { upsertContact } from '../../src/contacts/write/upsert.ts'
import { createDeal, createPipeline } from '../../src/deals/deals.ts'
import { loadCommands } from '../../src/tools/commands.ts'
import { hintFor } from '../../src/tools/mcp/mcp.answers.ts'
import { bounded, boundedPage, maxAnswerChars } from '../../src/tools/mcp/mcp.bounds.ts'
import { tools } from '../../src/tools/mcp/mcp.tools.ts'
import { svc, useOneApp } from '../support/cli.ts'
import { deliveriesOf, emitEvents } from '../support/deliveries.ts'
import { furnish } from '../support/furnish.ts'
import { drain } from '../support/journeys.ts'
import { ada, confirmed, useAgents } from './mcp.support.ts'

const { t, made, failed, start, replayFailed } = useAgents()
useOneApp()

test('an agent looks up a contact, finds why a delivery failed and replays it', async () => {
  await replayFailed(await start({ answers: [confirmed] }))
})

test('without --write the tools that change data are not offered, and refuse calls', async () => {
  const { client, read } = await start({ isWriter: false })
  const { tools: offered } = await client.listTools()
  const readers = tools.filter(({ changes }) => !changes).map(({ name }) => name)
  expect(offered.map(({ name }) => name)).toEqual(readers)
  expect(offered.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
  expect(client.getInstructions()).toContain('svc mcp --write')
  for (const { name } of tools.filter(({ changes }) => changes))
    await expect(client.callTool({ name, arguments: {} })).rejects.toThrow(`${name} disabled: it needs svc mcp --write`)
  expect(await read('suppressions_list')).toEqual({ suppressions: [] })
})

describe.each(['legacy', 'auto'] as const)('in the %s protocol', (mode) => {
  const cancel = async (session: Awaited<ReturnType<typeof start>>) => {
    await emitEvents(t.app, made.account.id)
    const { id } = (await deliveriesOf(t.app, made.account.id)).at(-1)!
    const result = await session.call('deliveries_cancel', { ids: [id] })
    const { status } = (await deliveriesOf(t.app, made.account.id)).find((row) => row.id === id)!
    return { result, status }
  }

  test('a client that cannot ask its user is refused what needs a confirmation', async () => {
    const session = await start({ mode })
    const { result, status } = await cancel(session)
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("can't ask") }] })
    expect(status).toBe('pending')
  })

  test.each([[{ action: 'decline' }], [{ action: 'accept', content: { confirm: false } }]] as const)(
    'nothing happens when the user answers %o',
    async (answer) => {
      const session = await start({ answers: [answer], mode })
      const { result, status } = await cancel(session)
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('did not confirm') }] })
      expect([session.questions.length, status]).toEqual([1, 'pending'])
    },
  )

  test('an answer that comes with the call, or was to another question, does not count', async () => {
    const { client, questions } = await start({ answers: [{ action: 'decline' }, { action: 'decline' }], mode })
    const forged = { inputResponses: { confirm: confirmed }, requestState: 'a hash' }
    const { requestState: _, ...early } = forged
    await emitEvents(t.app, made.account.id)
    const ids = (await deliveriesOf(t.app, made.account.id)).map(({ id }) => id)
    for (const more of [forged, early]) {
      const params = { name: 'deliveries_cancel', arguments: { ids }, ...more }
      expect(await client.callTool(params)).toMatchObject({ isError: true })
    }
    expect(questions.length).toBe(2)
  })

  test('it happens once the user has accepted the question', async () => {
    const session = await start({ answers: [confirmed], mode })
    const { result, status } = await cancel(session)
    expect(result.structuredContent).toEqual({ cancelled: 1 })
    expect(session.questions).toEqual(['Cancel 1 pending delivery? Its event will not be posted.'])
    expect(status).toBe('cancelled')
  })

  test('nothing is asked where there is nothing to cancel', async () => {
    const { refusal, questions } = await start({ answers: [confirmed], mode })
    expect(await refusal('deliveries_cancel', { ids: [await failed(made.account)] })).toContain('Nothing to cancel')
    expect(await refusal('deliveries_cancel', { ids: ['dlv_1'] })).toContain('dlv_1')
    expect(questions).toEqual([])
  })
})

test('a deal is moved by name, and its history names the agent', async () => {
  const { deal } = await t.app.work(made.account.id, 'cli:test', (work) =>
    createDeal(work, { title: 'Annual plan', email: ada, value: '1200', currency: 'EUR' }, { source: 'manual' }),
  )
  const { read, refusal } = await start()
  const { pipelines } = await read('pipelines_list')
  const [, second] = pipelines[0].stages
  expect(await read('deals_move', { id: deal.id, stage: second.name })).toMatchObject({
    moved: true,
    deal: { stageId: second.id },
  })
  const { history } = await read('deals_show', { id: deal.id })
  expect(history.at(-1)).toMatchObject({ actor: expect.stringMatching(/^mcp:/), to: second.id })
  expect(await refusal('deals_move', { id: deal.id, stage: 'Nowhere' })).toContain('Nowhere')
})

test('moving a deal asks where it starts a journey, and suppressing asks', async () => {
  const definition = {
    name: 'Won',
    enabled: true,
    trigger: { kind: 'deal-stage-changed' },
    steps: [{ kind: 'delay', for: '1d' }],
  }
  const file = { stdin: JSON.stringify(definition) }
  expect((await svc(t, ['journeys', 'apply', '-f', '-', '--account', made.account.id], file)).status).toBe(0)
  const { deal } = await t.app.work(made.account.id, 'cli:test', (work) =>
    createDeal(work, { title: 'Annual plan', email: ada }, { source: 'manual' }),
  )
  const { read, refusal, questions } = await start({ answers: [{ action: 'decline' }, confirmed, confirmed] })
  const { pipelines } = await read('pipelines_list')
  const move = { id: deal.id, stage: pipelines[0].stages[1].name }
  expect(await refusal('deals_move', move)).toContain('did not confirm')
  expect(await read('deals_move', move)).toMatchObject({ moved: true })
  expect(questions[0]).toContain('"Won"')
  expect(await read('suppressions_add', { email: ada })).toMatchObject({ added: true })
  expect(questions[2]).toContain(ada)
})

test('moving a deal asks where a journey of its contact waits for that', async () => {
  const steps = [{ kind: 'wait-for', event: 'deal.stage_changed', timeout: '9d', then: [{ kind: 'exit' }], else: [] }]
  const file = { stdin: JSON.stringify({ name: 'Nurture', enabled: true, trigger: { kind: 'api' }, steps }) }
  expect((await svc(t, ['journeys', 'apply', '-f', '-', '--account', made.account.id], file)).status).toBe(0)
  const { deal } = await t.app.work(made.account.id, 'cli:test', (work) =>
    createDeal(work, { title: 'Annual plan', email: ada }, { source: 'manual' }),
  )
  const { read, questions } = await start({ answers: [confirmed, confirmed] })
  await read('journeys_trigger', { journey: 'Nurture', email: ada, list: 'Customers' })
  await drain(t)
  const { pipelines } = await read('pipelines_list')
  expect(await read('deals_move', { id: deal.id, stage: pipelines[0].stages[1].name })).toMatchObject({ moved: true })
  expect(questions[1]).toContain('This may continue "Nurture", whose steps may send email to')
})

test('what the lists name can be shown, of its account only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-mcp-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  made.account = await t.account({ name: 'Alpha' })
  const own = await furnish(t, made.account, folder)
  const theirs = await furnish(t, await t.account({ name: 'Beta' }), folder)
  const { read, refusal } = await start()
  for (const noun of ['segment', 'project', 'form', 'webinar', 'course', 'booking']) {
    const [tool, argument] = [`${noun}s_show`, noun === 'booking' ? 'id' : noun]
    for (const ref of own[noun]!)
      expect([tool, (await read(tool, { [argument]: ref }))[noun].id]).toEqual([tool, own[noun]![0]])
    for (const ref of theirs[noun]!) expect(await refusal(tool, { [argument]: ref })).toMatch(/There is no/)
  }
  expect((await read('segments_show', { segment: own.segment![0] })).segment.count).toBe(1)
  expect((await read('courses_show', { course: own.course![0] })).course.lessons).toHaveLength(1)
  expect((await read('webinars_show', { webinar: own.webinar![0] })).stats).toMatchObject({ registrations: 1 })
  expect((await read('stats')).fromIso).toMatch(/T00:00:00\.000Z$/)
})

test('a broadcast, named by its id or its name, has the results of svc broadcasts show', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-mcp-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  made.account = await t.account({ name: 'Gamma' })
  const [id, name] = (await furnish(t, made.account, folder)).broadcast!
  const { id: accountId } = made.account
  await t.app.sql(
    `insert into message_results (account_id, scope, day, metric, link, since, url, count)
     values ($1, $2, '2026-11-23', 'sent', '', '-infinity', '', 3)`,
    [accountId, id],
  )
  await t.app.sql(
    `insert into day_counts (account_id, subject, day, counts) values ($1, $2, '2026-11-23', '{"opens": 2}')`,
    [accountId, `machines:${id}`],
  )
  const { stats, machines, rates, average } = (
    await svc(t, ['broadcasts', 'show', id!, '--json', '--account', accountId])
  ).json
  expect([stats.sent, machines]).toEqual([3, { opens: 2, clicks: 0 }])
  const { read } = await start()
  for (const one of [id, name])
    expect(await read('broadcasts_show', { id: one })).toEqual({
      broadcast: expect.objectContaining({ id, name }),
      ...{ stats, machines, rates, average },
    })
})

test('tools have what their commands have, except contents of emails', async () => {
  const run = async (...words: string[]) => (await svc(t, [...words, '--json', '--account', made.account.id])).json
  await run('senders', 'add', '--email', 'shop@example.com', '--name', 'Shop')
  const { id } = await run('send', '--to', ada, '--subject', 'Hello', '--html', '<p>Hello</p>', '--text', 'Hello')
  await run('forms', 'create', '--name', 'Signup', '--list', 'Customers', '--field', 'note')
  await run('webinars', 'create', '--title', 'Launch')
  const { read } = await start()
  const contents = ['html', 'text', 'calendar', 'mergeData', 'headers']
  for (const [noun, shown, one] of [
    ['contacts', { email: ada }, ada],
    ['sends', { id }, id],
    ['forms', { form: 'Signup' }, 'Signup'],
    ['webinars', { webinar: 'Launch' }, 'Launch'],
  ] as const) {
    const listed = (await run(noun, 'list'))[noun]
    expect((await read(`${noun}_list`, { full: true }))[noun], noun).toMatchObject(listed)
    const { [noun]: rows, ...whole } = await run(noun, 'show', one)
    const expected = rows ?? [Object.fromEntries(Object.entries(whole).filter(([name]) => !contents.includes(name)))]
    const answer = await read(`${noun}_show`, shown)
    expect(answer[noun] ?? [answer[noun.slice(0, -1)]], noun).toMatchObject(expected)
  }
  const { stats } = await run('forms', 'show', 'Signup', '--stats')
  expect((await read('forms_show', { form: 'Signup' })).stats).toEqual(stats)
  await run('suppressions', 'add', ada)
  expect((await read('contacts_list')).contacts).toEqual([expect.objectContaining({ suppression: 'manual' })])
})

test('lists are compact unless full, and times are ISO 8601 beside ms', async () => {
  const { read } = await start()
  const [row] = (await read('contacts_list', { list: 'Customers' })).contacts
  expect(Object.keys(row)).not.toContain('verification')
  expect(Object.keys(row)).not.toContain('listId')
  expect(row.createdAtIso).toBe(new Date(row.createdAt).toISOString())
  const [whole] = (await read('contacts_list', { list: 'Customers', full: true })).contacts
  expect(Object.keys(whole)).toEqual(expect.arrayContaining(['verification', 'listId']))
  expect(await read('segments_list')).toEqual({ segments: [] })
})

test('a compact list has no ids of other things, neither as arrays nor in objects', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-mcp-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  made.account = await t.account({ name: 'Delta' })
  const own = await furnish(t, made.account, folder)
  const audience = ['--list', own.list![0]!, '--segment', own.segment![0]!, '--exclude-list', own.list![0]!]
  const created = await svc(t, [
    ...['broadcasts', 'create', '--name', 'Some', '--project', own.project![0]!, ...audience],
    ...['--account', made.account.id],
  ])
  expect(created.status, created.stderr).toBe(0)
  await upsertContact(t.app, made.account.id, 'cli:test', { listId: own.list![0]!, email: ada, fields: { id: '42' } })
  const { read } = await start()
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const foreign = (row: object): string[] =>
    Object.entries(row).flatMap(([name, value]) => [
      ...(/Ids?$/.test(name) ? [name] : []),
      ...(name !== 'fields' && isObject(value) && 'id' in value ? [`${name}.id`] : []),
    ])
  const lists = tools.filter(({ name, input }) => name.endsWith('_list') && 'full' in input.shape)
  expect(lists.length).toBeGreaterThan(8)
  for (const { name } of lists) {
    const [rows] = Object.values(await read(name)) as object[][]
    expect([name, ...rows!.flatMap(foreign)]).toEqual([name])
  }
  const [broadcast] = (await read('broadcasts_list', { full: true })).broadcasts
  expect(broadcast).toMatchObject({ listIds: own.list!.slice(0, 1), excludeListIds: own.list!.slice(0, 1) })
  expect((await read('sends_list', { full: true })).sends[0].source.id).toBeTruthy()
  const { contacts } = await read('contacts_list', { where: `email = "${ada}"`, list: own.list![1] })
  expect(contacts).toMatchObject([{ fields: { id: '42' } }])
})

test('a long text in a page says how long it is', async () => {
  const write = { listId: made.listId, email: ada, fields: { note: 'n'.repeat(9000) } }
  await upsertContact(t.app, made.account.id, 'cli:test', write)
  const { read } = await start()
  const [{ fields }] = (await read('contacts_list')).contacts
  expect(fields.note).toBe(`${'n'.repeat(4000)}… (9000 characters)`)
})

test('lists that are read whole have pages, in the order of the list', async () => {
  const inWork = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(made.account.id, 'cli:test', run)
  for (let n = 0; n < 4; n++) await inWork((work) => createList(work, { name: `List ${n}` }))
  const { read, refusal } = await start()
  const { lists, ...more } = await read('lists_list')
  expect([lists.length, more]).toEqual([5, {}])
  const first = await read('lists_list', { limit: 2 })
  const second = await read('lists_list', { limit: 2, cursor: first.nextCursor })
  const { lists: rest, ...end } = await read('lists_list', { limit: 2, cursor: second.nextCursor })
  expect([[...first.lists, ...second.lists, ...rest], end]).toEqual([lists, {}])
  await deleteList(t.app, made.account.id, second.lists[1].id, { actor: 'cli:test' })
  expect(await refusal('lists_list', { cursor: second.nextCursor })).toContain('begin with the first page')
  expect(await refusal('lists_list', { cursor: 'x' })).toContain('cursor is not valid')
})

test('full pages lose no row to the ISO times beside the others', async () => {
  const { account, listId } = made
  // Without these times 100 such rows are short enough for one answer.
  const fields = { note: 'n'.repeat(60) }
  for (let n = 1; n < 120; n++)
    await upsertContact(t.app, account.id, 'cli:test', { listId, email: `c${n}@example.org`, fields })
  const { read } = await start()
  const seen: string[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
    const { contacts, nextCursor } = await read('contacts_list', { full: true, limit: 100, cursor })
    seen.push(...contacts.map((row: { email: string }) => row.email))
    cursor = nextCursor
  }
  expect(new Set(seen).size).toBe(120)
})

test('deals are listed of every pipeline, or of the named one', async () => {
  const id = await t.app.work(made.account.id, 'cli:test', async (work) => {
    const { id: pipelineId, stages } = await createPipeline(work, { name: 'Partners' })
    const input = { title: 'Partner', email: ada, pipelineId, stageId: stages[0]!.id }
    return (await createDeal(work, input, { source: 'manual' })).deal.id
  })
  const { read } = await start()
  const listed = async (args = {}) => (await read('deals_list', args)).deals.map((deal: { id: string }) => deal.id)
  expect(await listed()).toContain(id)
  expect(await listed({ pipeline: 'Partners' })).toEqual([id])
})

test('the question before a journey names everything that the journey gets', async () => {
  const definition = { name: 'Welcome', enabled: true, trigger: { kind: 'api' }, steps: [{ kind: 'delay', for: '1d' }] }
  const file = { stdin: JSON.stringify(definition) }
  const applied = await svc(t, ['journeys', 'apply', '-f', '-', '--account', made.account.id], file)
  expect(applied.status, applied.stderr).toBe(0)
  const { read, refusal, questions } = await start({ answers: [{ action: 'decline' }, confirmed] })
  const entrant = { journey: 'Welcome', email: ada, list: 'Customers', data: { code: 'A1' } }
  expect(await refusal('journeys_trigger', entrant)).toContain('did not confirm')
  expect(await read('journeys_runs', { journey: 'Welcome' })).toEqual({ runs: [] })
  expect(await read('journeys_trigger', entrant)).toEqual({ entered: true })
  expect(await read('journeys_runs', { journey: 'Welcome' })).toMatchObject({ runs: [{ email: ada }] })
  expect(questions[0]).toContain(`Let ${ada}, in the list "Customers", into the journey "Welcome"?`)
  expect(questions[0]).toContain('{"code":"A1"}')
})

test('every tool stays in its account, answers without secrets, and refuses what is malformed', async () => {
  const theirs = await failed(made.other)
  const { client, call, refusal, logged } = await start({ answers: [] })
  expect(await refusal('deliveries_show', { id: theirs })).toContain('delivery')
  expect(await refusal('deliveries_replay', { ids: [theirs] })).toContain('delivery')
  expect(await refusal('contacts_list', { limit: 101 })).toContain('limit')
  expect(await refusal('deliveries_list', { cursor: 'x' })).toContain('cursor')
  expect(await refusal('deliveries_list', { status: 'lost' })).toContain('status')
  expect(await refusal('contacts_list', { where: 'plan =' })).toContain('column')
  expect(await refusal('sends_show', { id: 'msg_1' })).toContain('use sends_list')
  expect(await refusal('contacts_list', { lst: 'Customers' })).toContain('lst')
  expect(await refusal('contacts_list', { segment: 'S', list: 'Customers' })).toBe(
    'segment can not be combined with list or where',
  )
  expect((await call('webhooks_list')).content[0]!.text).not.toContain('/hook')
  await expect(client.callTool({ name: 'accounts_delete', arguments: {} })).rejects.toThrow('not found')

  const inputs: Record<string, Record<string, unknown>> = {
    contacts_show: { email: ada },
    deliveries_show: { id: await failed(made.account) },
  }
  let all = ''
  for (const { name, changes, input } of tools)
    if (!changes && (inputs[name] || input.safeParse({}).success))
      all += (await call(name, inputs[name])).content[0]!.text
  expect(all).toContain(ada)
  for (const hidden of [made.secret, made.account.key, made.other.id, made.other.name, theirs, t.env.SVC_SECRET!])
    expect(all).not.toContain(hidden)
  expect(logged()).toBe('')
})

test('no tool shows more of the URL of a webhook than its host: not of a subscription, a delivery or a step of a journey', async () => {
  const url = 'https://hooks.example.com/services/T0/very-secret'
  const call = (rest: object = {}) => ({ kind: 'webhook', url, ...rest })
  const steps = [call(), { kind: 'branch', where: 'plan = pro', then: [call()], else: [] }]
  const file = { stdin: JSON.stringify({ name: 'Calls', enabled: true, trigger: { kind: 'api' }, steps }) }
  const applied = await svc(t, ['journeys', 'apply', '-f', '-', '--account', made.account.id], file)
  expect(applied.status, applied.stderr).toBe(0)
  const id = await failed(made.account)
  const { read, call: use } = await start()
  const { journey } = await read('journeys_show', { journey: 'Calls' })
  expect(journey.definition.steps[0].url).toBe('https://hooks.example.com/…')
  const inputs: Record<string, Record<string, unknown>> = {
    journeys_show: { journey: 'Calls' },
    journeys_runs: { journey: 'Calls' },
    deliveries_show: { id },
  }
  for (const { name, changes, input } of tools) {
    if (changes || !(inputs[name] || input.safeParse({}).success)) continue
    const { text } = (await use(name, inputs[name])).content[0]!
    expect([name, text]).toEqual([name, expect.not.stringMatching(/very-secret|\/hook\b/)])
  }
})

/** Tools that change data without a question, each with the reason. */
const silent: Readonly<Record<string, string>> = {
  deliveries_replay: 'it posts again to subscribed webhooks, and emails nobody',
}

test('every tool that changes data can ask first, and the instructions name these tools', async () => {
  const { client } = await start()
  const asking = tools.filter(({ changes }) => changes?.asks).map(({ name }) => name)
  expect(client.getInstructions()).toContain(`ask the user first: ${asking.join(', ')}.`)
  const others = tools.filter(({ changes }) => changes && !changes.asks).map(({ name }) => name)
  expect(others).toEqual(Object.keys(silent))
})

test('every tool has the name of a command, and its title is that command', async () => {
  const commands = (await loadCommands()).flat().map(({ path }) => `svc ${path}`)
  const { client } = await start()
  const { tools: offered } = await client.listTools()
  expect(offered.length).toBe(tools.length)
  expect(offered.filter(({ title = '' }) => !commands.includes(title))).toEqual([])
})

test('no hint of the code becomes one that names a command or a flag', () => {
  const names = new Set(tools.map(({ name }) => name))
  const hints = globSync('src/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bhint: (['"`])(.*?)\1/g)].map(([, , hint]) => hint!),
  )
  expect(hints.length).toBeGreaterThan(100)
  const shown = hints.flatMap((hint) => hintFor(hint, names) ?? [])
  expect(shown).toContain('use lists_list')
  expect(shown.filter((hint) => /\bsvc\b|(?<!\S)--/.test(hint))).toEqual([])
})

test('the inputs are described for models by the shapes that check them', async () => {
  const { client } = await start()
  const { tools: offered } = await client.listTools()
  const of = (name: string) => offered.find((one) => one.name === name)!
  expect(of('deliveries_list').inputSchema.properties).toMatchObject({
    status: { enum: ['pending', 'delivered', 'exhausted', 'cancelled'] },
    limit: { maximum: 100, default: 20 },
  })
  expect(of('journeys_trigger').inputSchema.required).toEqual(['journey', 'email', 'list'])
  for (const [name, property] of [
    ['suppressions_add', 'email'],
    ['journeys_trigger', 'email'],
    ['sends_list', 'to'],
  ] as const)
    expect(of(name).inputSchema.properties![property]).toMatchObject({
      description: expect.stringMatching(/^an .*address/),
    })
  // A thing is named by its noun, whether by its id or by its name: `list`, not `listId`.
  const named = offered.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties ?? {}))
  expect(named.filter((name) => /Id$/.test(name))).toEqual([])
  const hints = Object.fromEntries(offered.map(({ name, annotations }) => [name, annotations]))
  expect(hints.deliveries_cancel).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true })
  expect(hints.deliveries_replay).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: false })
  expect(hints.stats).toMatchObject({ readOnlyHint: true, destructiveHint: false })
})

test('it needs one account', async () => {
  expect(await svc(t, ['mcp'])).toMatchObject({
    status: 2,
    stdout: '',
    // At most 20 of them.
    stderr: expect.stringMatching(/^error: There is more than one account: .*\bOthers 1\b/),
  })
  expect(await svc(t, ['mcp', '--account', 'nobody'])).toMatchObject({ status: 3, stdout: '' })
})

describe('answers', () => {
  const long = 'x'.repeat(maxAnswerChars)

  test('are cut until they are short enough, and say so', () => {
    const answer = bounded({
      html: long,
      rows: Array.from({ length: 5000 }, (_, n) => ({ n, text: long })),
      nextCursor: 'c',
    })
    expect(JSON.stringify(answer).length).toBeLessThan(maxAnswerChars)
    expect(answer.nextCursor).toBe('c')
    expect((answer.rows as unknown[]).at(-1)).toBe('… (5000 in all)')
    expect(answer.html).toContain(`(${maxAnswerChars} characters)`)
    const wide = bounded(Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`name ${n}`, n])))
    expect(wide).toEqual({ error: expect.stringContaining('ask for less') })
  })

  test('pages have fewer rows if the rows are long, and lose none', async () => {
    const rows = Array.from({ length: 100 }, (_, n) => ({ n, text: 'y'.repeat(3000) }))
    const load = async ({ limit, cursor = '0' }: { limit: number; cursor?: string | undefined }) => {
      const end = Number(cursor) + limit
      return { rows: rows.slice(Number(cursor), end), nextCursor: end < rows.length ? String(end) : null }
    }
    const seen: unknown[] = []
    for (let cursor: unknown = '0'; cursor !== undefined; ) {
      const answer = await boundedPage('rows', { limit: 40, cursor: cursor as string }, load)
      seen.push(...(answer.rows as unknown[]))
      cursor = answer.nextCursor
    }
    expect(seen).toEqual(rows)
  })
})

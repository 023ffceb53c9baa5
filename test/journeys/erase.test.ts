// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { beforeEach, expect, test } from 'vitest'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { createDefinitionCache } from '../../src/journeys/engine/runs.loop.ts'
import { findJourney } from '../../src/journeys/journeys.ts'
import { addressPattern, addressRegExp } from '../../src/lib/erased.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { useApp } from '../support/app.ts'
import { type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'
import { plainProject } from '../support/projects.ts'

const ada = 'ada.o@people.example'
const longer = `x${ada}`

const clock = testClock()
let bench: JourneyBench
let listId: string

const t = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(t)
  listId = await bench.list('Leads')
  await bench.work(async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
    await applyProjects(work, [plainProject('Welcome')])
  })
})

const steps = (address: string) => [
  {
    ...{ kind: 'wait-for', event: 'deal.created', timeout: '1d', else: [] },
    where: `deal.email != ${address} and deal.email != ${longer}`,
    then: [
      {
        kind: 'branch',
        where: `not email = ${address.toUpperCase()}`,
        then: [{ kind: 'update-field', field: 'met', value: 'yes' }],
      },
      { kind: 'branch', if: { field: 'referrer', equals: address }, then: [{ kind: 'exit' }] },
      { kind: 'branch', if: { field: 'referrer', contains: `x ${address}` }, then: [{ kind: 'exit' }] },
    ],
  },
  { kind: 'wait-for', event: 'deal.created', where: { 'deal.email': address }, timeout: '1d', then: [], else: [] },
  { kind: 'send-email', project: 'Welcome', replyTo: longer },
  // What an operator writes stays.
  { kind: 'update-field', field: 'owner', value: ada },
]
const mail = (more: object) => ({ kind: 'send-email', project: 'Welcome', ...more })
const apply = (name: string, of: object[]) =>
  bench.apply({ name, trigger: { kind: 'list-added', list: 'Leads' }, steps: of })

const erase = () =>
  bench.work(async (work) => eraseContact(work, ada, { dryRun: false, personalData: await t.app.personalData() }))

test('an erasure removes an address from filters, conditions and the Reply-To of every version, and from runs that wait', async () => {
  const id = await apply('J', [...steps(ada), mail({ replyTo: ada })])
  await bench.add(listId, ['bob@people.example'])
  await bench.drain()
  await apply('J', [...steps(ada), mail({ replyTo: ada }), { kind: 'exit' }])
  await apply('Other', [{ kind: 'branch', where: `email = ${longer}`, then: [{ kind: 'exit' }] }])
  await bench.add(listId, [ada])
  const person = JSON.stringify(await bench.work((work) => readPerson(t.app, work, ada)))
  expect(person).toContain(`{"id":"${id}","version":2,"texts":["deal.email != ${ada} and deal.email != ${longer}"`)
  expect(person).not.toContain('Other')
  await erase()

  const versions = await t.app.sql<{ definition: { steps: { kind: string; replyTo?: string }[] } }>(
    'select definition from journey_versions where account_id = $1 and journey_id = $2 order by version',
    [bench.account.id, id],
  )
  const mails = versions.map(({ definition }) => definition.steps.filter(({ kind }) => kind === 'send-email'))
  expect(mails.flat().map(({ replyTo }) => replyTo)).toEqual([longer, undefined, longer, undefined])
  const others = steps('@gone@').filter(({ kind }) => kind !== 'send-email')
  for (const { definition } of versions)
    expect(definition.steps.filter(({ kind }) => kind !== 'send-email' && kind !== 'exit')).toEqual(
      JSON.parse(JSON.stringify(others).replace('@GONE@', '@gone@')),
    )
  const [run] = await t.app.sql<{ where: string }>(
    `select awaited_where as "where" from journey_runs where journey_id = $1 and status = 'waiting'`,
    [id],
  )
  expect(run!.where).toBe(`deal.email != @gone@ and deal.email != ${longer}`)

  // The run of the other person goes on, with the filters as they are now.
  await bench.work((work) =>
    createDeal(work, NewDeal.parse({ title: 'T', email: 'bob@people.example' }), { source: 'api' }),
  )
  await bench.drain()
  const [bob] = await bench.contacts('bob@people.example')
  expect(bob!.fields.met).toBe('yes')
})

test('an address at the beginning of a line of a filter is erased, too', async () => {
  const where = (address: string) => `deal.email in (eve@people.example,\n${address})`
  const wait = { kind: 'wait-for', event: 'deal.created', where: where(ada), timeout: '1d', then: [], else: [] }
  const id = await apply('J', [wait])
  await bench.add(listId, ['bob@people.example', ada])
  await bench.drain()
  const person = await bench.work((work) => readPerson(t.app, work, ada))
  expect(person.journeys).toEqual([{ id, version: 1, texts: [where(ada)] }])
  await erase()
  const { definition } = await bench.work((work) => findJourney(work, 'J'))
  expect(definition.steps[0]).toMatchObject({ where: where('@gone@') })
  const [run] = await t.app.sql<{ where: string }>(
    `select awaited_where as "where" from journey_runs where journey_id = $1 and status = 'waiting'`,
    [id],
  )
  expect(run!.where).toBe(where('@gone@'))
})

test('an export names the journeys that send from the address, which an erasure keeps', async () => {
  await bench.work((work) => addSender(work, { email: ada, name: 'Ada' }))
  const id = await apply('J', [{ kind: 'branch', where: 'x = 1', then: [mail({ sender: ada.toUpperCase() })] }])
  await apply('Other', [mail({ sender: 'hello@shop.example', replyTo: ada })])
  await bench.add(listId, [ada])
  await erase()
  const person = await bench.work((work) => readPerson(t.app, work, ada))
  expect(person).toMatchObject({ journeysFrom: [{ id, version: 1 }], journeys: [] })
})

test('another account keeps its definitions', async () => {
  const other = await journeyBench(t)
  await other.list('Leads')
  await other.apply({
    name: 'J',
    trigger: { kind: 'manual' },
    steps: [{ kind: 'branch', where: `email = ${ada}`, then: [{ kind: 'exit' }] }],
  })
  await bench.add(listId, [ada])
  await erase()
  const { definition } = await other.work((work) => findJourney(work, 'J'))
  expect(JSON.stringify(definition)).toContain(ada)
})

test('a running engine reads a definition again after ten seconds', async () => {
  const id = await apply('J', steps(ada))
  let now = 0
  const definitionOf = createDefinitionCache(() => now)
  const read = () =>
    bench.work(async (work) => JSON.stringify(await definitionOf(work, { journeyId: id, version: 1 } as never)))
  expect(await read()).toContain(`!= ${ada} `)
  await bench.add(listId, [ada])
  await erase()
  now = 9_999
  expect(await read()).toContain(`!= ${ada} `)
  now = 10_000
  expect(await read()).not.toContain(`!= ${ada} `)
})

test('the expression of the process finds what the pattern of PostgreSQL finds, also in JSON', async () => {
  const address = 'ada.o+x@people.example'
  const texts = [
    address,
    address.toUpperCase(),
    ` ${address}.`,
    `"${address}"`,
    `x${address}`,
    `${address}x`,
    `${address}.com`,
    `é${address}`,
    `.${address}`,
    `${address}-x`,
    `(${address})`,
    address.replace('.', 'x'),
  ]
  const found = await t.app.sql<{ text: string }>('select text from unnest($1::text[]) text where text ~* $2', [
    texts,
    addressPattern(address),
  ])
  expect(texts.filter((text) => addressRegExp(address).test(text))).toEqual(found.map(({ text }) => text))
  expect(found).toHaveLength(5)
  const inLines = texts.map((text) => `a\n${text}\tb`)
  const inJson = await t.app.sql<{ text: string }>(
    'select text from unnest($1::text[]) text where to_jsonb(text)::text ~* $2',
    [inLines, addressPattern(address)],
  )
  expect(inLines.filter((text) => addressRegExp(address).test(text))).toEqual(inJson.map(({ text }) => text))
  expect(inJson).toHaveLength(5)
})

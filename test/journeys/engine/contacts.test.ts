import { beforeEach, expect, test } from 'vitest'
import { eraseContact, listLists } from '../../../src/contacts/contacts.ts'
import { useApp } from '../../support/app.ts'
import { untilLocked } from '../../support/database.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})

const onAdded = (steps: object[], more: object = {}) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, ...more, steps })

const lists = async () => {
  const all = await bench.work((work) => listLists(work))
  return Object.fromEntries(all.map(({ name, fields, rowCount }) => [name, { fields, rowCount }]))
}

test('add-to-list keeps pending contacts pending, and does not start the list’s journeys for them', async () => {
  const customers = await bench.list('Customers')
  const second = await bench.apply({
    name: 'Second',
    trigger: { kind: 'list-added', list: 'Customers' },
    steps: [{ kind: 'delay', for: '1d' }],
  })
  await onAdded([
    { kind: 'delay', for: '1h' },
    { kind: 'add-to-list', list: 'Customers' },
  ])
  await bench.add(listId, ['pending@example.com', 'active@example.com'])
  await target.app.sql(
    `update contacts set status = 'pending' where account_id = $1 and email = 'pending@example.com'`,
    [bench.account.id],
  )
  clock.advance(day)
  await bench.drain()
  const status = async (email: string) =>
    (await bench.contacts(email)).find((contact) => contact.listId === customers)!.status
  expect([await status('pending@example.com'), await status('active@example.com')]).toEqual(['pending', 'active'])
  expect((await bench.runs(second)).map(({ email }) => email)).toEqual(['active@example.com'])
  expect((await lists()).Customers!.rowCount).toBe(2)
})

test('add-to-list adds no columns for contacts that are already in the list, and is not refused for them', async () => {
  const full = await bench.list('Full')
  const fields = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}`, '1']))
  await bench.add(full, ['a@example.com'], fields)
  const few = await bench.list('Few')
  await bench.add(few, ['a@example.com'], { one: '1' })
  const journey = await onAdded([
    { kind: 'add-to-list', list: 'Full' },
    { kind: 'add-to-list', list: 'Few' },
  ])
  await bench.add(listId, ['a@example.com'], { other: '1' })
  await bench.drain()
  expect((await bench.runs(journey))[0]).toMatchObject({ status: 'completed' })
  expect(await lists()).toMatchObject({ Few: { fields: ['one'], rowCount: 1 }, Full: { rowCount: 1 } })
})

test('neither update-field nor add-to-list restores a contact that was erased during the step', async () => {
  await bench.list('Customers')
  const { email } = { email: 'gone@example.com' }
  for (const step of [
    { kind: 'update-field', field: 'seen', value: 'yes' },
    { kind: 'add-to-list', list: 'Customers' },
  ]) {
    const journey = await onAdded([{ kind: 'delay', for: '1h' }, step])
    await bench.add(listId, [email])
    clock.advance(day)
    let drained: Promise<void> | undefined
    await bench.work(async (work) => {
      // The engine has read the contact and waits for the lock on its row.
      await work.sql('select from contacts where account_id = $1 and email = $2 for update', [bench.account.id, email])
      await work.sql('select from addresses where account_id = $1 and email = $2 for update', [bench.account.id, email])
      drained = bench.drain()
      await untilLocked(target.app, 1)
      await eraseContact(work, email, { dryRun: false })
    })
    await drained
    expect(await bench.contacts(email)).toEqual([])
    expect((await bench.runs(journey)).map(({ status }) => status)).not.toContain('completed')
    const [row] = await target.app.sql('select contact_count from accounts where id = $1', [bench.account.id])
    expect(row).toEqual({ contact_count: 0 })
  }
})

test('journey.completed is also emitted if the last step removes the contact from its last list', async () => {
  await bench.subscribe('journey.completed')
  const journey = await onAdded([{ kind: 'remove-from-list', list: 'Leads' }])
  await bench.add(listId, ['last@example.com'], { name: 'Ada' })
  await bench.drain()
  expect((await bench.runs(journey))[0]).toMatchObject({ status: 'completed', log: [{ outcome: 'removed' }] })
  expect(await bench.contacts('last@example.com')).toEqual([])
  const events = await target.events(bench.account.id)
  expect(events).toMatchObject([
    { type: 'journey.completed', data: { contact: { email: 'last@example.com', fields: { name: 'Ada' }, listId } } },
  ])
})

test('journey.completed has the contact as the last step has left it', async () => {
  await bench.subscribe('journey.completed')
  await onAdded([
    { kind: 'delay', for: '1h' },
    { kind: 'update-field', field: 'seen', value: 'yes' },
  ])
  await bench.add(listId, ['a@example.com'])
  clock.advance(day)
  await bench.drain()
  const [contact] = await bench.contacts('a@example.com')
  expect(contact!.updatedAt).toBe(contact!.createdAt + day)
  const [event] = await target.events(bench.account.id)
  expect(event!.data).toMatchObject({ contact })
})

test('runs of one contact at one step share the statements, each with its own log entry', async () => {
  await bench.list('Customers')
  const journey = await bench.apply({
    name: 'Api',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      { kind: 'update-field', field: 'seen', value: '{{ email }}' },
      { kind: 'add-to-list', list: 'Customers' },
    ],
  })
  await bench.add(listId, ['a@example.com'])
  await target.app.sql(
    `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
     select account_id, id || i, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at
     from journey_runs, generate_series(1, 3) i where account_id = $1`,
    [bench.account.id],
  )
  await bench.drain()
  const added = (await bench.runs(journey)).map(({ log }) => log.map(({ outcome }) => outcome).join())
  expect(added.sort()).toEqual(['updated,added', ...Array(3).fill('updated,was in the list')])
  expect((await lists()).Customers!.rowCount).toBe(1)
})

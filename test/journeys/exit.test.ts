import { beforeEach, expect, test } from 'vitest'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { changeDeal, createDeal, NewDeal } from '../../src/deals/deals.ts'
import { useApp } from '../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
  await bench.subscribe('journey.completed')
})

const onAdded = (exitOn: string[], steps: object[] = [{ kind: 'delay', for: '1d' }]) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, exitOn, steps })

const deal = (email: string) =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title: 'T', email }), { source: 'api' }))

const ends = async (journey: string) =>
  Object.fromEntries((await bench.runs(journey)).map(({ email, status, reason }) => [email, [status, reason]]))

test('a run that meets an exit rule ends at once with the rule as its reason, and emits no journey.completed', async () => {
  const journey = await onAdded(['deal-won'])
  await bench.add(listId, ['won@example.com', 'lost@example.com', 'none@example.com'])
  await bench.drain()
  const stages = await bench.stages()
  const stage = (name: string) => stages.find((one) => one.name === name)!.id
  const [won, lost] = [await deal('won@example.com'), await deal('lost@example.com')]
  await bench.work((work) => changeDeal(work, won.deal.id, { stageId: stage('Won') }))
  await bench.work((work) => changeDeal(work, lost.deal.id, { stageId: stage('Lost') }))
  expect(await ends(journey)).toEqual({
    'won@example.com': ['exited', 'exit rule: deal-won'],
    'lost@example.com': ['waiting', null],
    'none@example.com': ['waiting', null],
  })
  clock.advance(day)
  await bench.drain()
  expect(await target.events(bench.account.id)).toHaveLength(2)
})

test('an event type is an exit rule too, for all runs of its contact only', async () => {
  const journey = await onAdded(['deal.created'])
  await bench.add(listId, ['a@example.com', 'b@example.com'])
  await deal('a@example.com')
  expect(await ends(journey)).toEqual({
    'a@example.com': ['exited', 'exit rule: deal.created'],
    'b@example.com': ['running', null],
  })
})

test('the event that starts a run does not end it', async () => {
  const journey = await onAdded(['contact.created'])
  await bench.add(listId, ['a@example.com'])
  expect(await ends(journey)).toEqual({ 'a@example.com': ['running', null] })
})

test('a run that is ended by its own step keeps the effect of the step', async () => {
  const journey = await onAdded(
    ['deal.created'],
    [
      { kind: 'create-deal', title: 'T' },
      { kind: 'delay', for: '1d' },
    ],
  )
  await bench.add(listId, ['a@example.com'])
  await bench.drain()
  const [run] = await bench.runs(journey)
  expect(run).toMatchObject({ status: 'exited', reason: 'exit rule: deal.created' })
  expect(run!.log.map(({ kind }) => kind)).toEqual(['create-deal'])
})

test('list-removed ends the runs of contacts that leave the list: by a journey, by erasure, with the list', async () => {
  await bench.list('Other')
  const journey = await onAdded(['list-removed'])
  const remover = await bench.apply({
    name: 'Remover',
    trigger: { kind: 'deal-stage-changed' },
    steps: [{ kind: 'remove-from-list', list: 'Leads' }],
  })
  await bench.stages()
  await bench.add(listId, ['moved@example.com', 'erased@example.com', 'last@example.com'])
  await bench.drain()
  await deal('moved@example.com')
  await bench.drain()
  expect((await bench.runs(remover))[0]!.log).toMatchObject([{ outcome: 'removed' }])
  await bench.work((work) => eraseContact(work, 'erased@example.com', { dryRun: false }))
  expect((await ends(journey))['last@example.com']).toEqual(['waiting', null])
  await deleteList(target.app, bench.account.id, listId, { actor: 'cli:test' })
  const gone = ['exited', 'exit rule: list-removed']
  expect(await ends(journey)).toEqual({
    'moved@example.com': gone,
    '': gone,
    'last@example.com': gone,
  })
})

test('the run of a contact that is in no list ends at its next step, under any rules', async () => {
  const journey = await onAdded([])
  await bench.add(listId, ['a@example.com'])
  await bench.drain()
  await deleteList(target.app, bench.account.id, listId, { actor: 'cli:test' })
  clock.advance(day)
  await bench.drain()
  expect(await ends(journey)).toEqual({ 'a@example.com': ['exited', 'the contact was removed'] })
})

test('an erasure ends the runs of the contact and removes its address from all runs and deals', async () => {
  const journey = await onAdded([])
  await bench.add(listId, ['gone@example.com', 'stays@example.com'])
  await bench.drain()
  const { deal: kept } = await deal('gone@example.com')
  await bench.work((work) => eraseContact(work, 'gone@example.com', { dryRun: false }))
  expect(await ends(journey)).toEqual({
    '': ['exited', 'the contact was erased'],
    'stays@example.com': ['waiting', null],
  })
  const [row] = await target.app.sql('select email, title from deals where id = $1', [kept.id])
  expect(row).toEqual({ email: '', title: 'T' })
})

import { beforeEach, expect, test } from 'vitest'
import { writeContacts } from '../../../src/contacts/contacts.ts'
import { createCourse } from '../../../src/courses/courses.ts'
import {
  changeDeal,
  createDeal,
  createPipeline,
  deleteStage,
  findStage,
  NewDeal,
  NewPipeline,
} from '../../../src/deals/deals.ts'
import { emit } from '../../../src/events/emit.ts'
import { sampleEvent } from '../../../src/events/samples.ts'
import type { EventData } from '../../../src/events/shapes.ts'
import { createForm, FormFile } from '../../../src/forms/forms.ts'
import { doStep } from '../../../src/journeys/engine/steps.effects.ts'
import { startJourneys } from '../../../src/journeys/journeys.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import { createWebinar } from '../../../src/webinars/webinars.ts'
import { useApp } from '../../support/app.ts'
import { untilLocked } from '../../support/database.ts'
import { type JourneyBench, journeyBench } from '../../support/journeys.ts'
import { plainProject } from '../../support/projects.ts'

let bench: JourneyBench
let listId: string

const target = useApp()
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})

let named = 0
const on = (trigger: object, more: object = {}) =>
  bench.apply({ name: `J${++named}`, trigger, reentry: 'always', ...more, steps: [{ kind: 'delay', for: '1d' }] })

const entered = async (journeyId: string) => (await bench.runs(journeyId)).map(({ email }) => email)

const deal = (email: string, more: object = {}) =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title: 'T', email, ...more }), { source: 'api' }))

const writes = (count: number) => Array.from({ length: count }, (_, i) => ({ email: `c${i}@example.com`, fields: {} }))

test('list-added enters a contact that is added to its list, once; other lists and updates do not start it', async () => {
  const journey = await on({ kind: 'list-added', list: 'Leads' })
  const other = await bench.list('Other')
  await bench.add(listId, ['a@example.com', 'b@example.com'])
  await bench.add(listId, ['a@example.com'], { changed: 'yes' })
  await bench.add(other, ['c@example.com'])
  expect((await entered(journey)).sort()).toEqual(['a@example.com', 'b@example.com'])
})

test('list-added receives 500 contacts of one write, and none of a larger write or one without events', async () => {
  const journey = await on({ kind: 'list-added', list: 'Leads' })
  await bench.work((work) => writeContacts(work, listId, writes(501), new Map()))
  await bench.work((work) =>
    writeContacts(work, listId, [{ email: 'x@example.com', fields: {} }], new Map(), { events: false }),
  )
  expect(await entered(journey)).toEqual([])
  const second = await bench.list('Second')
  const hearing = await on({ kind: 'list-added', list: 'Second' })
  await bench.work((work) => writeContacts(work, second, writes(500), new Map()))
  expect(await entered(hearing)).toHaveLength(500)
})

test('a write that is rolled back enters no contact', async () => {
  const journey = await on({ kind: 'list-added', list: 'Leads' })
  const failing = bench.work(async (work) => {
    await writeContacts(work, listId, writes(1), new Map())
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await entered(journey)).toEqual([])
})

test('no contact enters a disabled journey', async () => {
  const journey = await on({ kind: 'list-added', list: 'Leads' }, { enabled: false })
  await bench.add(listId, ['a@example.com'])
  expect(await entered(journey)).toEqual([])
})

test('deal-stage-changed starts on a move into its stage, and on a creation in it', async () => {
  const [first, second] = await bench.stages()
  await bench.add(listId, ['a@example.com', 'b@example.com'])
  const any = await on({ kind: 'deal-stage-changed' })
  const into = await on({ kind: 'deal-stage-changed', stage: second!.name })
  const between = await on({ kind: 'deal-stage-changed', stage: second!.name, from: first!.name })
  const made = await deal('a@example.com')
  await bench.work((work) => changeDeal(work, made.deal.id, { stageId: second!.id }))
  await bench.work((work) => changeDeal(work, made.deal.id, { stageId: second!.id, title: 'Same stage' }))
  await deal('b@example.com', { stageId: second!.id })
  expect(await entered(any)).toEqual(['a@example.com', 'a@example.com', 'b@example.com'])
  expect(await entered(into)).toEqual(['a@example.com', 'b@example.com'])
  expect(await entered(between)).toEqual(['a@example.com'])
})

test('a journey that creates a deal and the deletion of a stage do not deadlock', async () => {
  const email = 'ada@example.com'
  await bench.add(listId, [email])
  const moved = await on({ kind: 'deal-stage-changed' })
  const [first, second] = await bench.stages()
  const { deal: held } = await deal(email, { stageId: first!.id })
  const [contact] = await bench.contacts(email)
  const doer = { runId: 'run_1', journeyId: moved, stepNo: 1, contact: contact!, context: {}, nowMs: 0 }
  const step = { kind: 'create-deal', title: 'Made', value: 0, currency: 'EUR', stage: second!.id } as never
  let begun = 0
  const units: Promise<unknown>[] = []
  await bench.work(async ({ sql, accountId }) => {
    await sql('select from deals where account_id = $1 and id = $2 for update', [accountId, held.id])
    units.push(
      bench.work(async (work) => {
        begun++
        await deleteStage(work, await findStage(work, first!.id), await findStage(work, second!.id))
      }),
    )
    await untilLocked(target.app, 1)
    units.push(
      bench.work((work) => {
        begun++
        return doStep(work, step, [doer], {} as never)
      }),
    )
    await untilLocked(target.app, 2)
  })
  await Promise.all(units)
  // Each once: PostgreSQL chose no transaction as a deadlock victim.
  expect(begun).toBe(2)
})

test('deal-stage-changed of one pipeline ignores another', async () => {
  await bench.stages()
  await bench.add(listId, ['a@example.com'])
  const pipeline = await bench.work((work) => createPipeline(work, NewPipeline.parse({ name: 'Partners' })))
  const journey = await on({ kind: 'deal-stage-changed', pipeline: 'Partners' })
  await deal('a@example.com')
  expect(await entered(journey)).toEqual([])
  await deal('a@example.com', { pipelineId: pipeline.id })
  expect(await entered(journey)).toEqual(['a@example.com'])
})

const contactOf = async (email: string) => (await bench.contacts(email))[0]!

test('interaction starts by project, block and kind, for the list that has the address', async () => {
  await bench.add(listId, ['a@example.com'])
  const contact = await contactOf('a@example.com')
  const sent = await bench.work((work) => applyProjects(work, [plainProject('Spring'), plainProject('Autumn')]))
  const project = { id: sent[0]!.id!, name: 'Spring' }
  const journeys = {
    any: await on({ kind: 'interaction' }),
    project: await on({ kind: 'interaction', project: 'Spring', interaction: 'rating' }),
    otherProject: await on({ kind: 'interaction', project: 'Autumn' }),
    block: await on({ kind: 'interaction', block: 'other' }),
    kind: await on({ kind: 'interaction', interaction: 'click' }),
  }
  const happen = (recipient: EventData<'interaction.received'>['recipient']) =>
    bench.work((work) =>
      emit(work, 'interaction.received', () => [
        { ...sampleEvent('interaction.received', { now: 0 }).data, project, recipient },
      ]),
    )
  await happen({ email: 'a@example.com', rowId: contact.rowId })
  await happen({ email: 'stranger@example.com', rowId: null })
  const counts = await Promise.all(Object.values(journeys).map(async (id) => (await entered(id)).length))
  expect(counts).toEqual([1, 1, 0, 0, 0])
})

test('form-submitted, lead-hot and purchase-completed start by their events; an event without a contact starts nothing', async () => {
  await bench.add(listId, ['a@example.com'])
  const contact = await contactOf('a@example.com')
  const signup = await bench.work(async (work) => {
    await createForm(work, FormFile.parse({ name: 'Other', listId }))
    return createForm(work, FormFile.parse({ name: 'Newsletter signup', listId }))
  })
  const form = await on({ kind: 'form-submitted', form: 'Newsletter signup' })
  const otherForm = await on({ kind: 'form-submitted', form: 'Other' })
  const hot = await on({ kind: 'lead-hot' })
  const purchase = await on({ kind: 'purchase-completed' })
  await bench.work(async (work) => {
    for (const who of [contact, null]) {
      const submitted = { ...sampleEvent('form.submitted', { now: 0 }).data, contact: who }
      await emit(work, 'form.submitted', () => [{ ...submitted, form: { id: signup.id, name: signup.name } }])
      await emit(work, 'purchase.completed', () => [
        { ...sampleEvent('purchase.completed', { now: 0 }).data, contact: who },
      ])
    }
    await emit(work, 'lead.hot', () => [{ ...sampleEvent('lead.hot', { now: 0 }).data, contact }])
  })
  const counts = await Promise.all([form, otherForm, hot, purchase].map(async (id) => (await entered(id)).length))
  expect(counts).toEqual([1, 0, 1, 1])
})

test('a course enrolment, a webinar registration and the activation of a pending contact start journeys without an event', async () => {
  await bench.add(listId, ['a@example.com'])
  const { rowId } = await contactOf('a@example.com')
  const entrant = { listId, rowId, email: 'a@example.com' }
  const any = await on({ kind: 'course-enrolled' })
  const course = await bench.work((work) => createCourse(work, { title: 'Sailing' }))
  await bench.work((work) => createWebinar(work, { title: 'Live', accessMode: 'registration' }))
  const one = await on({ kind: 'course-enrolled', course: 'Sailing' })
  const webinar = await on({ kind: 'webinar-registered', webinar: 'Live' })
  await bench.work((work) => startJourneys(work, { kind: 'course-enrolled', key: course.id, entrant }))
  await bench.work((work) => startJourneys(work, { kind: 'course-enrolled', key: 'crs_2', entrant }))
  await bench.work((work) => startJourneys(work, { kind: 'webinar-registered', key: 'web_2', entrant }))
  const counts = await Promise.all([any, one, webinar].map(async (id) => (await entered(id)).length))
  expect(counts).toEqual([2, 1, 0])
})

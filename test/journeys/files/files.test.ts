// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for one side of a step

import { beforeAll, describe, expect, test } from 'vitest'
import { createList } from '../../../src/contacts/contacts.ts'
import { createCourse } from '../../../src/courses/courses.ts'
import { createPipeline, listPipelines, type PipelineView } from '../../../src/deals/deals.ts'
import { eventTypes } from '../../../src/events/events.ts'
import { applyJourneys, findJourney } from '../../../src/journeys/journeys.ts'
import { notFound } from '../../../src/lib/problem.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import { createWebinar } from '../../../src/webinars/webinars.ts'
import { useAccount, useApp } from '../../support/app.ts'
import { plainProject } from '../../support/projects.ts'

let listId: string
let sales: PipelineView
let renewals: PipelineView
let projectId: string

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  await t.app.work(account.id, 'cli:test', async (work) => {
    listId = (await createList(work, { name: 'Customers' })).id
    projectId = (await applyProjects(work, [plainProject('P')]))[0]!.id!
    await createCourse(work, { title: 'C' })
    await createWebinar(work, { title: 'W', accessMode: 'registration' })
    sales = (await listPipelines(work))[0]!
    renewals = await createPipeline(work, {
      name: 'Renewals',
      stages: [
        { name: 'Due', kind: 'open' },
        { name: 'Won', kind: 'won' },
        { name: 'Paused', kind: 'open' },
      ],
    })
    await createPipeline(work, { name: 'Partners', stages: [{ name: 'Paused', kind: 'open' }] })
  })
})

const apply = (...documents: unknown[]) => t.app.work(account.id, 'cli:test', (work) => applyJourneys(work, documents))
const find = (ref: string) => t.app.work(account.id, 'cli:test', (work) => findJourney(work, ref))
const stageOf = (pipeline: PipelineView, name: string) => pipeline.stages.find((stage) => stage.name === name)!.id

/** Returns the errors of a valid journey with `changes`. */
const faultsOf = async (changes: object): Promise<string[]> => {
  const journey = { name: 'Faulty', trigger: { kind: 'api' }, steps: [{ kind: 'exit' }], ...changes }
  const error = await apply(journey).then(
    () => null,
    (thrown: Error) => thrown,
  )
  return error ? error.message.split('; ') : []
}

describe('names', () => {
  test('lists, pipelines and stages are stored by id in triggers and steps', async () => {
    await apply({
      name: 'Names',
      trigger: { kind: 'deal-stage-changed', pipeline: 'Sales', stage: 'Won', from: 'Proposal' },
      steps: [
        { kind: 'add-to-list', list: 'Customers' },
        {
          kind: 'split',
          percent: 10,
          a: [{ kind: 'remove-from-list', list: listId }],
          b: [
            { kind: 'create-deal', title: 'Renewal', pipeline: 'Renewals', stage: 'Won' },
            { kind: 'move-deal', stage: 'Due' },
          ],
        },
      ],
    })
    expect((await find('Names')).definition).toEqual({
      trigger: {
        kind: 'deal-stage-changed',
        pipeline: sales.id,
        stage: stageOf(sales, 'Won'),
        from: stageOf(sales, 'Proposal'),
      },
      reentry: 'never',
      exitOn: [],
      steps: [
        { kind: 'add-to-list', list: listId },
        {
          kind: 'split',
          percent: 10,
          a: [{ kind: 'remove-from-list', list: listId }],
          b: [
            { kind: 'create-deal', title: 'Renewal', pipeline: renewals.id, stage: stageOf(renewals, 'Won') },
            { kind: 'move-deal', stage: stageOf(renewals, 'Due') },
          ],
        },
      ],
    })
  })

  test('a project is stored by id, in steps and in triggers', async () => {
    const steps = [{ kind: 'send-email', project: 'P', type: 'marketing' }]
    await apply({ name: 'Mailing', trigger: { kind: 'interaction', project: 'P', block: 'b' }, steps })
    expect((await find('Mailing')).definition).toMatchObject({
      trigger: { project: projectId, block: 'b' },
      steps: [{ ...steps[0], project: projectId }],
    })
    await apply({ name: 'Mailing', trigger: { kind: 'interaction', project: projectId }, steps })
    expect((await find('Mailing')).definition.trigger).toMatchObject({ project: projectId })
  })

  test('the texts of a definition are stored exactly, whatever SQL means by their characters', async () => {
    const body = { "it's": '? $1 ?? :name \\ \\\\ \n " {} \ud83d\ude00', none: null }
    await apply({
      name: 'Texts ? \\',
      trigger: { kind: 'api' },
      steps: [{ kind: 'webhook', url: 'https://a.example/?', body }],
    })
    expect((await find('Texts ? \\')).definition.steps).toEqual([{ kind: 'webhook', url: 'https://a.example/?', body }])
  })

  test('a reference without a source keeps its name', async () => {
    const sources = { form: undefined, webinar: undefined, course: undefined }
    const triggers = [
      { kind: 'form-submitted', form: 'Signup' },
      { kind: 'webinar-registered', webinar: 'W' },
      { kind: 'course-enrolled', course: 'C' },
    ]
    for (const trigger of triggers) {
      const document = { name: 'Kept', trigger, steps: [{ kind: 'exit' }] }
      await t.app.work(account.id, 'cli:test', (work) =>
        applyJourneys(Object.assign(Object.create(work), { sources }), [document]),
      )
      expect((await find('Kept')).definition.trigger).toEqual(trigger)
    }
  })

  test('sources resolve forms, webinars and courses; unknown ones are refused', async () => {
    const find = async (_: unknown, ref: string) => {
      if (ref !== 'Known') throw notFound(`There is no such thing as ${ref}`)
      return { id: 'id_1' }
    }
    const sources = { form: find, webinar: find, course: find }
    const applied = (trigger: object) =>
      t.app.work(account.id, 'cli:test', (work) =>
        applyJourneys(Object.assign(Object.create(work), { sources }), [
          { name: 'Sourced', trigger, steps: [{ kind: 'exit' }] },
        ]),
      )
    await applied({ kind: 'webinar-registered', webinar: 'Known' })
    await applied({ kind: 'course-enrolled', course: 'Known' })
    await applied({ kind: 'form-submitted', form: 'Known' })
    await expect(applied({ kind: 'form-submitted', form: 'x' })).rejects.toThrow(
      'trigger.form: there is no such thing as x',
    )
  })

  test('an unknown name is refused with its path', async () => {
    expect(
      await faultsOf({
        trigger: { kind: 'list-added', list: 'Nobody' },
        steps: [
          { kind: 'branch', if: { field: 'plan', exists: true }, then: [{ kind: 'add-to-list', list: 'x' }] },
          { kind: 'create-deal', title: 'T', pipeline: 'Nope', stage: 'Won' },
          { kind: 'create-deal', title: 'T', pipeline: 'Renewals', stage: 'Lost' },
          { kind: 'send-email', project: 'Nope' },
        ],
      }),
    ).toEqual([
      'trigger.list: there is no list Nobody',
      'steps[0].then[0].list: there is no list x',
      'steps[1].pipeline: there is no pipeline Nope',
      'steps[2].stage: there is no stage Lost in Renewals',
      'steps[3].project: there is no project Nope',
    ])
  })

  test('a stage name of several pipelines but not the default one is refused with the candidates', async () => {
    const [fault] = await faultsOf({ steps: [{ kind: 'move-deal', stage: 'Paused' }] })
    expect(fault).toMatch(/^steps\[0\]\.stage: there is more than one stage Paused: /)
    for (const name of ['(Renewals)', '(Partners)']) expect(fault).toContain(name)
  })

  test.each<[string, object, object[], () => PipelineView]>([
    ['the default pipeline', { kind: 'api' }, [], () => sales],
    ['that of the trigger', { kind: 'deal-stage-changed', pipeline: 'Renewals' }, [], () => renewals],
    ['that of the trigger’s stage', { kind: 'deal-stage-changed', stage: 'Due' }, [], () => renewals],
    [
      'that of the deal made before',
      { kind: 'manual' },
      [{ kind: 'create-deal', title: 'T', pipeline: 'Renewals' }],
      () => renewals,
    ],
    [
      'that of the trigger, whatever deal is made',
      { kind: 'deal-stage-changed', pipeline: 'Sales' },
      [{ kind: 'create-deal', title: 'T', pipeline: 'Renewals' }],
      () => sales,
    ],
  ])('a stage name of several pipelines means %s', async (_, trigger, before, pipeline) => {
    await apply({ name: 'Near', trigger, steps: [...before, { kind: 'move-deal', stage: 'Won' }] })
    expect((await find('Near')).definition.steps.at(-1)).toEqual({
      kind: 'move-deal',
      stage: stageOf(pipeline(), 'Won'),
    })
  })

  test('a list of another account is not found', async () => {
    const stranger = await t.account()
    const theirs = await t.app.work(stranger.id, 'cli:test', (work) => createList(work, { name: 'Theirs' }))
    const [fault] = await faultsOf({ steps: [{ kind: 'add-to-list', list: theirs.id }] })
    expect(fault).toBe(`steps[0].list: there is no list ${theirs.id}`)
  })
})

describe('shapes', () => {
  const waits = (event: string) => ({ kind: 'wait-for', event, timeout: '1d', then: [], else: [] })

  test('every trigger, step and rule of the contract is accepted', async () => {
    const triggers = [
      { kind: 'api' },
      { kind: 'manual' },
      { kind: 'list-added', list: 'Customers' },
      { kind: 'form-submitted' },
      { kind: 'deal-stage-changed' },
      { kind: 'interaction', project: 'P', block: 'b', interaction: 'click' },
      { kind: 'lead-hot' },
      { kind: 'purchase-completed' },
      { kind: 'course-enrolled', course: 'C' },
      { kind: 'webinar-registered', webinar: 'W' },
    ]
    const exit = { kind: 'exit' }
    const steps = [
      { id: 'mail', kind: 'send-email', project: 'P', type: 'transactional', subject: 'Hi' },
      { kind: 'delay', for: '2d' },
      { kind: 'delay', until: '2026-12-01T09:00:00+01:00' },
      {
        kind: 'wait-for',
        event: 'deal.created',
        where: { 'deal.stage': 'Won' },
        timeout: '1w',
        then: [exit],
        else: [],
      },
      { ...waits('purchase.completed'), where: 'purchase.items.name = Book and data.project.name = P' },
      { kind: 'branch', if: { field: 'plan', equals: 'pro' }, then: [exit] },
      { kind: 'branch', if: { field: 'plan', contains: 'pro' }, then: [], else: [exit] },
      { kind: 'branch', if: { field: 'seats', greater: 5 }, then: [exit] },
      { kind: 'branch', if: { field: 'seats', less: 5 }, then: [exit] },
      { kind: 'split', percent: 0, a: [], b: [exit] },
      { kind: 'update-field', field: 'greeting', value: 'Hello {{ first_name }}' },
      { kind: 'add-to-list', list: 'Customers' },
      { kind: 'remove-from-list', list: 'Customers' },
      { kind: 'create-deal', title: 'Deal', value: '1.005', currency: 'eur' },
      { kind: 'move-deal', stage: 'Due' },
      { kind: 'webhook', url: 'https://example.com/hook', body: { email: '{{ email }}', tags: [1, null] } },
      { kind: 'webhook', url: 'https://example.com/'.padEnd(2048, 'x') },
      exit,
    ]
    const exitOn = ['unsubscribed', 'suppressed', 'list-removed', 'deal-won', 'deal-lost', 'purchase.completed']
    const applied = await apply(
      ...triggers.map((trigger) => ({ name: `By ${trigger.kind}`, trigger, reentry: 'always', exitOn, steps })),
    )
    expect(applied.map(({ triggerKind, outcome }) => [triggerKind, outcome])).toEqual(
      triggers.map(({ kind }) => [kind, 'created']),
    )
  })

  test.each<[string, object, string]>([
    ['no name', { name: undefined }, 'name is required'],
    ['an empty name', { name: ' ' }, 'name must not be empty'],
    ['an unknown property', { colour: 'red' }, 'the journey has an unknown property colour'],
    ['no trigger', { trigger: undefined }, 'trigger is required'],
    ['an unknown reentry', { reentry: 'twice' }, 'reentry must be one of never, after-exit, always'],
    ['no steps', { steps: [] }, 'steps must have at least 1 item'],
    ['steps that are not a list', { steps: 'exit' }, 'steps must be an array'],
    ['NUL in a name', { name: 'a\0b' }, 'name must not contain NUL characters'],
  ])('%s is refused', async (_, changes, fault) => {
    expect(await faultsOf(changes)).toEqual([fault])
  })

  test.each<[object, string]>([
    [{ kind: 'api', list: 'Customers' }, 'trigger has an unknown property list'],
    [{ kind: 'list-added' }, 'trigger.list is required'],
    [{ kind: 'full-moon' }, 'trigger.kind must be one of api, manual, list-added'],
    [{ kind: 'interaction', interaction: 'stare' }, 'trigger.interaction must be one of open, click'],
  ])('the trigger %j is refused with its path', async (trigger, fault) => {
    const [first] = await faultsOf({ trigger })
    expect(first).toContain(fault)
  })

  test.each<[object, string]>([
    [{ kind: 'teleport' }, 'steps[0].kind must be one of send-email, delay'],
    [{}, 'steps[0].kind must be one of send-email, delay'],
    [{ kind: 'exit', now: true }, 'steps[0] has an unknown property now'],
    [{ kind: 'delay' }, 'steps[0] must have exactly one of for, until'],
    [{ kind: 'delay', for: '1d', until: '2026-12-01' }, 'steps[0] must have exactly one of for, until'],
    [{ kind: 'delay', for: '2 days' }, 'steps[0].for must be a duration such as 2d'],
    [{ kind: 'delay', for: '0d' }, 'steps[0].for must be a duration such as 2d'],
    [{ kind: 'delay', for: '3651d' }, 'steps[0].for must be a duration such as 2d'],
    [{ kind: 'delay', until: 'tomorrow' }, 'steps[0].until must be an ISO time'],
    [{ kind: 'delay', until: '2026-12-01T09:00:00' }, 'steps[0].until must be an ISO time'],
    [{ kind: 'delay', until: '2026-13-01' }, 'steps[0].until must be an ISO time'],
    [{ kind: 'delay', until: '2027-02-29T09:00:00Z' }, 'steps[0].until must be an ISO time'],
    [{ kind: 'branch', if: { field: 'a', exists: true } }, 'steps[0].then is required'],
    [{ kind: 'branch', if: { field: 'a', exists: true }, then: [] }, 'steps[0] must have a step in one of its sides'],
    [{ kind: 'branch', if: { field: 'a' }, then: [{ kind: 'exit' }] }, 'steps[0].if must have exactly one of equals'],
    [
      { kind: 'branch', if: { field: 'a', equals: 1, less: 2 }, then: [{ kind: 'exit' }] },
      'steps[0].if must have exactly one of equals',
    ],
    [{ kind: 'split', percent: 50, a: [], b: [] }, 'steps[0] must have a step in one of its sides'],
    [{ kind: 'split', percent: 101, a: [], b: [{ kind: 'exit' }] }, 'steps[0].percent must be at most 100'],
    [{ kind: 'split', percent: Number.NaN, a: [], b: [{ kind: 'exit' }] }, 'steps[0].percent must be a number'],
    [{ kind: 'wait-for', event: 'lead.hot', timeout: '1d', then: [] }, 'steps[0].else is required'],
    [{ kind: 'wait-for', event: 'lead.cold', timeout: '1d', then: [], else: [] }, 'steps[0].event must be one of'],
    [{ kind: 'wait-for', event: 'lead.hot', then: [], else: [] }, 'steps[0].timeout is required'],
    [{ ...waits('deal.created'), where: 7 }, 'steps[0].where must be a string or an object'],
    [
      { ...waits('deal.created'), where: { 'deal.title': [] } },
      'steps[0].where."deal.title" must be a string or a number',
    ],
    [{ ...waits('deal.created'), where: '' }, 'steps[0].where: filter, column 1: expected a term, "not" or "("'],
    [{ ...waits('deal.created'), where: 'deal.value == 1' }, 'steps[0].where: filter, column 12: use "="'],
    [{ kind: 'create-deal', title: 'x', value: -1 }, 'steps[0].value must be a decimal amount'],
    [{ kind: 'create-deal', title: 'x', value: '1e3' }, 'steps[0].value must be a decimal amount'],
    [{ kind: 'create-deal', title: 'x', currency: 'us' }, 'steps[0].currency must be three letters'],
    [{ kind: 'create-deal', title: 'x'.repeat(201) }, 'steps[0].title must be at most 200 characters'],
    [{ kind: 'webhook', url: 'file:///etc/passwd' }, 'steps[0].url must be an http or https URL'],
    [
      { kind: 'webhook', url: 'https://example.com/'.padEnd(2049, 'x') },
      'steps[0].url must be at most 2048 characters',
    ],
    [{ kind: 'webhook', url: 'https://{{ host }}/' }, 'steps[0].url must be an http or https URL'],
    [{ kind: 'update-field', field: '__proto__', value: 'x' }, 'steps[0].field must be the name of a column'],
    [{ kind: 'update-field', field: ' email', value: 'x' }, 'steps[0].field must be the name of a column'],
    [{ id: 'a b', kind: 'exit' }, 'steps[0].id must be 1 to 64 letters'],
  ])('the step %j is refused with its path', async (step, fault) => {
    const [first] = await faultsOf({ steps: [step] })
    expect(first).toContain(fault)
  })

  test.each([
    ['deal.created', 'deal.Title = x', 'unknown term "deal.Title"; did you mean "deal.title"?'],
    ['deal.created', 'plan = pro', 'unknown term "plan"; available: field.<name>, deal.id, deal.title, deal.value'],
    [
      'contact.created',
      'opened < 30d',
      'unknown term "opened"; available: field.<name>, contact.listId, contact.listName, contact.rowId, contact.email, contact.fields.<name>',
    ],
  ])('a filter of %s: %s is refused with the paths of its data', async (event, where, fault) => {
    const faults = await faultsOf({ steps: [{ ...waits(event), where }] })
    expect(faults.join('; ')).toContain(`steps[0].where: filter, column 1: ${fault}`)
  })

  test('the error for an unknown value lists the allowed values', async () => {
    const kinds =
      'send-email, delay, update-field, add-to-list, remove-from-list, create-deal, move-deal, webhook, exit'
    expect(
      await faultsOf({ trigger: { kind: 'full-moon' }, exitOn: ['bored'], steps: [{ kind: 'teleport' }] }),
    ).toEqual([
      'trigger.kind must be one of api, manual, list-added, form-submitted, deal-stage-changed, interaction, lead-hot, purchase-completed, course-enrolled, webinar-registered, webinar-attended, webinar-missed, event',
      `exitOn[0] must be one of unsubscribed, suppressed, list-removed, deal-won, deal-lost, ${eventTypes.join(', ')}`,
      `steps[0].kind must be one of ${kinds}, wait-for, branch, split`,
    ])
  })

  test('all errors are reported at once, each with its path, including unknown names', async () => {
    const faults = await faultsOf({
      exitOn: ['bored'],
      steps: [
        { kind: 'exit', a: 1, zz: 2 },
        {
          kind: 'branch',
          if: { field: 'x', exists: true },
          then: [
            { kind: 'delay', for: 'soon' },
            { kind: 'add-to-list', list: 'x' },
          ],
        },
        { id: 'one', kind: 'exit' },
        { id: 'one', kind: 'exit' },
      ],
    })
    expect(faults).toEqual([
      expect.stringMatching(/^exitOn\[0\] must be one of/),
      'steps[0] has an unknown property a',
      'steps[0] has an unknown property zz',
      expect.stringMatching(/^steps\[1\]\.then\[0\]\.for must be a duration/),
      'steps[3].id is the id of steps[2] too',
      'steps[1].then[1].list: there is no list x',
    ])
  })

  test('a definition has at most 200 steps, nested at most 10 deep', async () => {
    const nested = (depth: number): object =>
      depth === 1 ? { kind: 'exit' } : { kind: 'split', percent: 1, a: [nested(depth - 1)], b: [] }
    const exits = (count: number) => Array.from({ length: count }, () => ({ kind: 'exit' }))
    expect(await faultsOf({ name: 'Deep', steps: [nested(10)] })).toEqual([])
    expect(await faultsOf({ steps: [nested(11)] })).toEqual([
      `steps[0]${'.a[0]'.repeat(10)} is nested more than 10 deep`,
    ])
    expect(await faultsOf({ name: 'Long', steps: exits(200) })).toEqual([])
    expect(await faultsOf({ steps: [...exits(150), { kind: 'split', percent: 1, a: exits(50), b: [] }] })).toEqual([
      'steps must have at most 200 steps in all',
    ])
  })

  test.each([null, 'text', 7, [], [{ name: 'x' }]])('%j is not a journey', async (document) => {
    await expect(apply(document)).rejects.toThrow('a journey must be an object')
  })
})

describe('apply', () => {
  const journey = { name: 'Applied', trigger: { kind: 'api' }, steps: [{ kind: 'exit' }] }

  test('it creates a journey, then finds it by name, and by id under another name', async () => {
    const [made] = await apply(journey)
    expect(made).toMatchObject({ name: 'Applied', enabled: true, triggerKind: 'api', version: 1, outcome: 'created' })
    const [same] = await apply(journey)
    expect(same).toEqual({ ...made, outcome: 'unchanged' })
    const [renamed] = await apply({ ...journey, id: made!.id, name: 'Renamed' })
    expect(renamed).toMatchObject({ id: made!.id, name: 'Renamed', version: 1, outcome: 'updated' })
    const [changed] = await apply({ ...journey, name: 'Renamed', trigger: { kind: 'list-added', list: 'Customers' } })
    expect(changed).toMatchObject({ id: made!.id, triggerKind: 'list-added', version: 2, outcome: 'updated' })
    const versions = await t.app.sql(
      `select version, definition -> 'trigger' ->> 'kind' as kind from journey_versions where journey_id = $1 order by 1`,
      [made!.id],
    )
    expect(versions).toEqual([
      { version: 1, kind: 'api' },
      { version: 2, kind: 'list-added' },
    ])
  })

  test('a renamed list is the same list: no new version', async () => {
    const steps = [{ kind: 'add-to-list', list: 'Customers' }]
    const [made] = await apply({ name: 'Same list', trigger: { kind: 'api' }, steps })
    const [again] = await apply({
      name: 'Same list',
      trigger: { kind: 'api' },
      steps: [{ kind: 'add-to-list', list: listId }],
    })
    expect(again).toEqual({ ...made, outcome: 'unchanged' })
  })

  test('enabled defaults to true, also for a journey that was disabled', async () => {
    await apply({ ...journey, name: 'Off', enabled: false })
    expect((await apply({ ...journey, name: 'Off' }))[0]).toMatchObject({
      enabled: true,
      version: 1,
      outcome: 'updated',
    })
  })

  test('an unknown or foreign id is not found, a taken name is a conflict', async () => {
    const stranger = await t.account()
    const [theirs] = await t.app.work(stranger.id, 'cli:test', (work) => applyJourneys(work, [journey]))
    const [mine] = await apply({ ...journey, name: 'Mine' })
    await expect(apply({ ...journey, id: 'jrn_none' })).rejects.toMatchObject({ kind: 'not_found' })
    await expect(apply({ ...journey, id: theirs!.id })).rejects.toMatchObject({ kind: 'not_found' })
    await apply({ ...journey, name: 'Taken' })
    await expect(apply({ ...journey, id: mine!.id, name: 'Taken' })).rejects.toMatchObject({ kind: 'conflict' })
  })

  test('several documents are applied all or nothing', async () => {
    const before = await t.app.sql('select * from journeys order by id')
    await expect(
      apply({ ...journey, name: 'Good' }, { ...journey, name: 'Bad', steps: [{ kind: 'x' }] }),
    ).rejects.toThrow(/^document 2: steps\[0\]\.kind must be one of/)
    await expect(apply({ ...journey, name: 'Twice' }, { ...journey, name: 'Twice' })).rejects.toThrow(
      'document 2: is the journey of document 1 too',
    )
    await expect(
      apply({ ...journey, name: 'Good' }, { ...journey, name: 'Late', id: 'jrn_none' }),
    ).rejects.toMatchObject({
      kind: 'not_found',
    })
    expect(await t.app.sql('select * from journeys order by id')).toEqual(before)
  })

  test('ten concurrent applications of a file create one journey with one version', async () => {
    const applied = await Promise.all(Array.from({ length: 10 }, () => apply({ ...journey, name: 'Crowd' })))
    expect(applied.map(([one]) => one!.outcome).sort()).toEqual(['created', ...Array(9).fill('unchanged')])
    expect(new Set(applied.map(([one]) => one!.id)).size).toBe(1)
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closedPlaces } from '../../src/cli/define.ts'
import { nearest } from '../../src/lib/nearest.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Step, svc, useOneApp } from '../support/cli.ts'
import { buildCommands } from '../support/commands.ts'

const [enter, down, space, ctrlC] = ['\r', '\u001b[B', ' ', '\u0003']

let account: TestAccount
let folder: string
let dealId: string
let courseId: string

const run = (...args: string[]) => svc(t, [...args, '--account', account.id])
const json = async (...args: string[]) => (await run(...args, '--json')).json

const t = useApp()
useOneApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-prompts-'))
  account = await t.account()
  await json('lists', 'create', '--name', 'People')
  await json('contacts', 'upsert', '--list', 'People', '--email', 'ada@people.example')
  dealId = (await json('deals', 'create', '--title', 'Roof', '--email', 'ada@people.example')).id
  courseId = (await json('courses', 'create', '--title', 'Sailing')).id
  await writeFile(join(folder, 'j.yaml'), 'name: Hand\ntrigger: { kind: manual }\nsteps: [{ kind: exit }]\n')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each<[string, string | undefined]>([
  ['Propsal', 'Proposal'],
  ['proposal', 'Proposal'],
  ['Wno', 'Won'],
  ['x', undefined],
  ['', undefined],
  ['Something else', undefined],
  ['p'.repeat(5000), undefined],
])('the nearest of New, Proposal, Won to %.20j is %j', (typed, meant) => {
  expect(nearest(typed, ['New', 'Proposal', 'Won'])).toBe(meant)
})

test.each<[string[], number, string]>([
  [['deals', 'move', 'ID', '--to', 'Propsal'], 3, '(did you mean Proposal?)'],
  [['deals', 'list', '--status', 'opne'], 2, '(did you mean open?)'],
  [['lists', 'show', 'Peple'], 3, 'There is no list Peple (did you mean People?)'],
  [['accounts', 'set-plan', 'buisness'], 3, '(did you mean business?)'],
  [['lists', 'list', '--fields', 'id,nmae'], 2, '(did you mean name?)'],
  [['bindings', 'set', 'COURSE', 'enroled', 'x'], 2, '(did you mean enrolled?)'],
  [['contacts', 'list', '--where', 'emial ~ x'], 2, 'unknown term "emial"; did you mean "email"?'],
  [['keys', 'create', '--name', 'x', '--scope', 'send,contcts'], 2, '(did you mean contacts?)'],
  [
    ['webhooks', 'create', '--url', 'https://hooks.example.com/', '--events', 'deal.created,deal.stage_change'],
    2,
    '(did you mean deal.stage_changed?)',
  ],
  [['lits'], 2, "unknown command 'lits' (did you mean list"],
  [['lists', 'shwo'], 2, '(did you mean show?)'],
  [['lists', 'create', '--nmae', 'x'], 2, "unknown option '--nmae' (did you mean --name?)"],
])('%j is exit %i and suggests the right word', async (args, status, says) => {
  const ran = await svc(t, [
    ...args.map((arg) => (arg === 'ID' ? dealId : arg === 'COURSE' ? `course:${courseId}` : arg)),
    '--account',
    account.id,
  ])
  expect([ran.status, ran.stdout, ran.stderr]).toEqual([status, '', expect.stringContaining(says)])
  expect(ran.stderr.split('\n')[0]).toMatch(/^error: /)
})

await buildCommands()
const lists = closedPlaces().filter((place) => /(^| )(list|stats) --/.test(place))

test.each(lists)('%s takes no value outside its set', async (place) => {
  const ran = await run(...place.split(' '), 'zzzz')
  expect(ran).toMatchObject({ status: 2, stdout: '' })
})

test('a value that resembles no known one has no suggestion', async () => {
  expect((await run('lists', 'show', 'Zebra')).stderr).toMatch(/^error: There is no list Zebra\n/)
})

test('a refusal that is not about a value has no suggestion for it', async () => {
  const file = join(folder, 'people.csv')
  await writeFile(file, 'email\nada@example.org\n')
  const { stderr } = await run('contacts', 'import', file, '--from', 'resend', '--create-list', '--list', 'Peple')
  expect(stderr).toMatch(/^error: No column of Resend says who has opted out, such as unsubscribed\n/)
})

test('in a pipe a missing argument or flag is exit 2 without a question', async () => {
  for (const args of [
    ['deals', 'move'],
    ['lists', 'show'],
    ['deals', 'move', dealId],
    ['webhooks', 'create'],
  ])
    expect([args, (await run(...args)).status]).toEqual([args, 2])
})

describe('on a terminal', () => {
  const ask = (args: string[], steps: Step[], env: Record<string, string> = {}) =>
    svc(t, [...args, '--account', account.id, '--no-color'], { env, steps, tty: {} })

  test('deals move asks for the deal and the stage, each from a list', async () => {
    const { status, text } = await ask(
      ['deals', 'move'],
      [
        ['Roof (New, ada@people.example)', enter],
        [/The stage.*Qualified/s, `${down}${down}${enter}`],
      ],
    )
    expect([status, text]).toEqual([0, expect.stringContaining('Moved 1')])
    expect((await json('deals', 'show', dealId)).stage).toBe('Proposal')
  })

  test.each<[string, string[], string | RegExp]>([
    ['a confirmation', ['lists', 'delete', 'People'], 'Go on?'],
    ['a text', ['lists', 'create'], /Name/],
    ['a choice', ['deals', 'move'], 'Roof'],
  ])('Ctrl-D ends %s as Ctrl-C does', async (_, args, question) => {
    expect((await ask(args, [[question, '\u0004']])).status).toBe(130)
    expect((await json('lists', 'show', 'People')).name).toBe('People')
  })

  test('stages are those of the pipeline of the deals, or of the given pipeline', async () => {
    await json('pipelines', 'create', '--name', 'Press', '--stage', 'Asked', '--stage', 'New', '--stage', 'Printed:won')
    const press = ['--title', 'Story', '--email', 'ada@people.example', '--pipeline', 'Press']
    const { id: story } = await json('deals', 'create', ...press)
    const offered = async (...args: string[]) => (await ask(args, [[/❯ /, ctrlC]])).text
    const ofRoof = await offered('deals', 'move', dealId)
    expect([ofRoof, ofRoof]).toEqual([expect.stringContaining('Qualified'), expect.not.stringContaining('Printed')])
    const ofStory = await offered('deals', 'move', story.slice(-6))
    expect([ofStory, ofStory]).toEqual([expect.stringContaining('Printed'), expect.not.stringContaining('Qualified')])
    const ofBoth = await offered('deals', 'move', dealId, story)
    expect([ofBoth, ofBoth]).toEqual([expect.stringContaining('Qualified'), expect.stringContaining('New')])
    expect(await offered('pipelines', 'stages', 'reorder', 'Press')).not.toContain('Qualified')
    const unknown = await ask(['deals', 'move', 'deal_unknown'], [])
    expect([unknown.status, unknown.text]).toEqual([3, expect.not.stringContaining('?')])
  })

  test('a stage whose name two pipelines have is offered for each', async () => {
    await json('pipelines', 'create', '--name', 'Shop', '--stage', 'New', '--stage', 'Packed', '--stage', 'Sold:won')
    const { status } = await ask(
      ['pipelines', 'stages', 'set-kind'],
      [
        [/❯ /, 'new (sh'],
        [/❯ New \(Shop\)/, enter],
        [/Open, won or lost:.*❯ /s, `${down}${down}${enter}`],
      ],
    )
    expect(status).toBe(0)
    const [stage] = (await json('pipelines', 'stages', 'list', 'Shop')).stages
    expect(stage).toMatchObject({ name: 'New', kind: 'lost' })
  })

  test('lessons are those of the course', async () => {
    for (const title of ['Painting', 'Drawing']) {
      await json('courses', 'create', '--title', title)
      await json('courses', 'lessons', 'add', title, '--title', `${title} at dawn`, '--content', 'Hello')
    }
    const { text } = await ask(['courses', 'lessons', 'delete', 'Painting'], [[/❯ /, ctrlC]])
    expect([text, text]).toEqual([expect.stringContaining('Painting at'), expect.not.stringContaining('Drawing at')])
  })

  test('journeys end-run offers the runs that have not ended', async () => {
    const steps = 'steps: [{ kind: delay, for: 1h }]'
    await writeFile(join(folder, 'wait.yaml'), `name: Waiting\ntrigger: { kind: manual }\n${steps}\n`)
    await json('journeys', 'apply', '-f', join(folder, 'wait.yaml'))
    await json('journeys', 'enable', 'Waiting')
    for (const email of ['ada@people.example', 'eve@people.example'])
      await json('journeys', 'trigger', 'Waiting', '--list', 'People', '--email', email)
    const [{ id: eve }, { id: ada }] = (await json('journeys', 'runs', 'Waiting')).runs
    await json('journeys', 'end-run', ada)
    const { status, text } = await ask(['journeys', 'end-run'], [[/eve@people\.example/, enter]])
    expect(status).toBe(0)
    expect(text).not.toContain('ada@people.example')
    expect((await json('journeys', 'runs', 'Waiting')).runs).toMatchObject([
      { id: eve, status: 'cancelled' },
      { id: ada, status: 'cancelled' },
    ])
  })

  test('a terminal that reports no size has 80 columns', async () => {
    const { text } = await svc(t, ['events', 'types'], { tty: { columns: 0, rows: 0 } })
    expect(text).toMatch(/^deal\.stage_changed +\S.*\s\S+ \S+ /m)
  })

  test('a long list of choices is searched by typing', async () => {
    for (let i = 0; i < 9; i++) await json('lists', 'create', '--name', `Group ${i}`)
    const { status, text } = await ask(
      ['lists', 'show'],
      [
        ['Group 0 (0 contacts)', 'peop'],
        [/peop.*People \(\d+ contacts?\)/s, enter],
      ],
    )
    expect([status, text]).toEqual([0, expect.stringContaining('row count')])
  })

  test('accounts create asks for name and plan; with --name it asks nothing', async () => {
    const { status } = await ask(
      ['accounts', 'create'],
      [
        ['Unique name of the account', `Bakery${enter}`],
        [/Plan of the account.*starter/s, `${down}${enter}`],
      ],
    )
    expect([status, (await json('accounts', 'show', 'Bakery')).plan]).toEqual([0, 'starter'])
    expect((await ask(['accounts', 'create', '--name', 'Mill'], [])).status).toBe(0)
    expect((await json('accounts', 'show', 'Mill')).plan).toBe('free')
  })

  test('webhooks create asks for the URL, then for several event types', async () => {
    const { status } = await ask(
      ['webhooks', 'create'],
      [
        ['A public http', `https://hooks.example.com/x${enter}`],
        [/interaction\.received.*form\.submitted/s, `${space}${down}${space}${enter}`],
      ],
    )
    expect(status).toBe(0)
    expect((await json('webhooks')).webhooks[0].events).toEqual(['interaction.received', 'form.submitted'])
  })

  test('a missing path is refused before the next question', async () => {
    const { status, text } = await ask(
      ['journeys', 'apply'],
      [
        ['The file', `/nowhere.yaml${enter}`],
        ['There is no file /nowhere.yaml', `${'\u007f'.repeat(20)}${join(folder, 'j.yaml')}${enter}`],
      ],
    )
    expect([status, text]).toEqual([0, expect.stringContaining('created')])
  })

  test('a password is asked for and never shown', async () => {
    const { status, text } = await ask(
      ['relay', 'set', '--url', 'smtps://ada@smtp.example.com:465'],
      [['Password of ada', `hunter2secret${enter}`]],
    )
    expect(status).toBe(0)
    expect(text).not.toContain('hunter2secret')
    expect(await json('relay', 'show')).toMatchObject({ password: true })
  })

  test('accounts delete asks for the name; another name deletes nothing', async () => {
    await json('accounts', 'create', '--name', 'Gone')
    const wrong = await ask(['accounts', 'delete', 'Gone'], [['Type the name of the account', `gone${enter}`]])
    expect([wrong.status, wrong.text]).toEqual([2, expect.stringContaining('nothing was deleted')])
    expect((await run('accounts', 'show', 'Gone')).status).toBe(0)
    const right = await ask(['accounts', 'delete', 'Gone'], [['Type the name of the account', `Gone${enter}`]])
    expect([right.status, (await run('accounts', 'show', 'Gone')).status]).toEqual([0, 3])
  })

  test('Ctrl-C at a question is exit 130, and with CI no question is asked', async () => {
    expect((await ask(['deals', 'move'], [['Roof', ctrlC]])).status).toBe(130)
    const ran = await ask(['deals', 'move'], [], { CI: '1' })
    expect([ran.status, ran.text]).toEqual([2, expect.stringContaining('Missing <ids>, --to')])
  })
})

import { describe, expect, test } from 'vitest'
import { meetsCondition, parseCondition } from '../../src/studio/studio.conditions.ts'
import { applyProjects, loadProject, renderProject } from '../../src/studio/studio.ts'
import { useAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { costOf } from '../support/cost.ts'
import { randomOfTest } from '../support/random.ts'
import { projectOf, testLinks } from './support.ts'

const t = useApp()
const account = useAccount(t)

const apply = async (document: unknown) =>
  (await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [document])))[0]!

const rendering = async (document: unknown) => {
  const { id, version } = await apply(document)
  return (mergeData: Record<string, string>, nowMs = 0) =>
    renderProject(t.app, { accountId: account.id, id: id!, version, mergeData, links: testLinks, nowMs })
}

const text = (words: string, rest: object = {}) => ({ type: 'text', props: { text: words }, ...rest })
const onlyPro = { showIf: 'plan = pro' }

describe('a block with showIf', () => {
  const leaves: [string, object][] = [
    ['heading', { text: 'SECRET' }],
    ['text', { text: 'SECRET' }],
    ['image', { src: 'https://x.example/a.png', alt: 'SECRET' }],
    ['button', { label: 'SECRET', url: 'https://x.example' }],
    ['vote', { question: 'SECRET', options: ['A', 'B'] }],
    ['rating', { question: 'SECRET', max: 3 }],
    ['quiz', { question: 'SECRET', options: ['A', 'B'], correct: 0 }],
    ['form', { title: 'SECRET', fields: [{ name: 'a', label: 'A', type: 'text' }] }],
    [
      'booking',
      {
        title: 'SECRET',
        durationMinutes: 30,
        timezone: 'UTC',
        availability: [{ day: 1, from: '09:00', to: '10:00' }],
        days: 7,
      },
    ],
    ['checkout', { title: 'SECRET', items: [{ name: 'Mug', quantity: 1, amount: 5 }], currency: 'EUR' }],
  ]

  test.each(leaves)('a %s is in HTML and text if its condition holds, otherwise in neither', async (type, props) => {
    const render = await rendering(projectOf([text('Before'), { type, props, ...onlyPro }, text('After')]))
    const shown = await render({ plan: 'pro' })
    const always = await (await rendering(projectOf([text('Before'), { type, props }, text('After')])))({})
    // Only empty lines differ.
    const lines = ({ html, ...rest }: typeof shown) => ({ ...rest, html: html.replace(/\n+/g, '\n') })
    expect(lines(shown)).toEqual(lines(always))
    for (const data of [{}, { plan: 'Pro' }, { plan: '' }]) {
      const hidden = await render(data)
      for (const body of [hidden.html, hidden.text]) {
        expect(body).not.toContain('SECRET')
        expect(body).toMatch(/Before.*After/s)
      }
    }
    const without = await (await rendering(projectOf([text('Before'), text('After')])))({})
    expect((await render({})).text).toBe(without.text)
  })

  test('the conditions of sections and columns hide all that is in them', async () => {
    const render = await rendering(
      projectOf([
        {
          type: 'section',
          props: { background: '#eeeeee', padding: 8 },
          ...onlyPro,
          children: [{ id: 's1', ...text('IN SECTION') }],
        },
        {
          type: 'columns',
          showIf: 'country = AT',
          children: [
            { id: 'c1', ...text('IN COLUMNS') },
            { id: 'c2', ...text('BESIDE') },
          ],
        },
        {
          type: 'columns',
          children: [
            { id: 'd1', ...text('LEFT', onlyPro) },
            {
              id: 'd2',
              type: 'section',
              props: { background: '#ffffff' },
              showIf: 'country = AT',
              children: [{ id: 'd3', ...text('RIGHT') }],
            },
          ],
        },
        {
          type: 'section',
          props: { padding: 10 },
          children: [
            {
              id: 'e1',
              type: 'section',
              showIf: 'not plan = pro',
              children: [{ id: 'e2', ...text('NESTED', { showIf: 'country = AT' }) }],
            },
          ],
        },
      ]),
    )
    const found = async (data: Record<string, string>) => {
      const { html, text: plain } = await render(data)
      const words = ['IN SECTION', 'IN COLUMNS', 'BESIDE', 'LEFT', 'RIGHT', 'NESTED']
      const inHtml = words.filter((word) => html.includes(word))
      expect(words.filter((word) => plain.includes(word))).toEqual(inHtml)
      // Every element that is opened is closed, also those for Outlook only.
      for (const tag of ['table', 'tr', 'td', 'div', 'tbody'])
        expect([tag, html.match(new RegExp(`<${tag}[\\s>]`, 'g'))?.length]).toEqual([
          tag,
          html.match(new RegExp(`</${tag}>`, 'g'))?.length,
        ])
      expect(html.match(/<!--\[if/g)?.length).toBe(html.match(/<!\[endif\]/g)?.length)
      expect(html).not.toMatch(/mark[0-9a-f]{24}/)
      return inHtml
    }
    expect(await found({})).toEqual([])
    expect(await found({ plan: 'pro' })).toEqual(['IN SECTION', 'LEFT'])
    expect(await found({ country: 'AT' })).toEqual(['IN COLUMNS', 'BESIDE', 'RIGHT', 'NESTED'])
    expect(await found({ plan: 'pro', country: 'AT' })).toEqual(['IN SECTION', 'IN COLUMNS', 'BESIDE', 'LEFT', 'RIGHT'])
  })

  test('names are merge fields, own ones only', async () => {
    const render = await rendering(
      projectOf([
        text('A', { showIf: 'field."First name" = Ada and constructor is empty' }),
        text('B', { showIf: 'field.email = ada@people.example' }),
        text('C', { showIf: 'visits >= 10 and renewal < 2026-12-01' }),
      ]),
    )
    const found = async (data: Record<string, string>) =>
      (await render(data)).text
        .split('\n')
        .filter((line) => /^[ABC]$/.test(line))
        .join('')
    expect(await found({ 'First name': 'Ada' })).toBe('A')
    expect(await found({ 'First name': 'Ada', constructor: 'x' })).toBe('')
    expect(await found({ email: 'ada@people.example' })).toBe('B')
    expect(await found({ visits: '10.0', renewal: '2026-11-30T00:00' })).toBe('C')
    expect(await found({ visits: 'ten', renewal: '2026-11-30' })).toBe('')
  })

  test('svc projects render evaluates it', async () => {
    await apply(projectOf([text('Hello'), text('Only pro', onlyPro)], { name: 'Shown if' }))
    const run = async (...data: string[]) =>
      (await svc(t, ['projects', 'render', 'Shown if', '--text', '--account', account.id, ...data])).stdout
    expect(await run()).not.toContain('Only pro')
    expect(await run('--data', 'plan=pro')).toContain('Only pro')
  })
})

describe('a mistake in showIf', () => {
  const long = 'x'.repeat(3_990)
  test.each<[string, string]>([
    ['', 'filter, column 1: expected a term, "not" or "("'],
    ['plan =', 'filter, column 7: expected a value after "="'],
    ['plan = pro and (a = b', 'filter, column 22: expected "and", "or" or ")"'],
    ['opened < 30d', 'filter, column 1: unknown term "opened"; available: field.<name>'],
    ['plan = pro or deal.status = won', 'filter, column 15: unknown term "deal.status"; available: field.<name>'],
    ['email = a@b.example', 'filter, column 1: unknown term "email"; available: field.<name>'],
    ['webinar = x', 'filter, column 1: unknown term "webinar"; available: field.<name>'],
    ['renewal < 30d', 'filter, column 11: expected a number, a date such as 2026-11-01, or a text in quotes after "<"'],
    [
      `plan = "${long}${'y'.repeat(10)}"`,
      'filter, column 4001: expected the end, as a filter has at most 4,000 characters',
    ],
    [
      Array.from({ length: 101 }, () => 'a = b').join(' or '),
      'filter, column 901: expected the end, as a filter has at most 100 comparisons',
    ],
  ])('%.40s', async (showIf, message) => {
    const blocks = [text('A'), { type: 'section', children: [{ id: 'in', ...text('B', { showIf }) }] }]
    await expect(apply(projectOf(blocks, { name: 'Wrong' }))).rejects.toMatchObject({
      ...{ kind: 'invalid', message: `blocks[1].children[0].showIf: ${message}` },
    })
  })

  test('every one is reported, and nothing is stored', async () => {
    const blocks = [
      text('A', { showIf: 'a' }),
      text('B', { showIf: 7 }),
      { ...text('C'), props: { text: 'C', showIf: 'a = b' } },
    ]
    await expect(apply(projectOf(blocks, { name: 'Wrong' }))).rejects.toMatchObject({
      message: expect.stringMatching(
        /blocks\[1\]\.showIf must be.*blocks\[2\]\.props.*showIf.*blocks\[0\]\.showIf: filter, column 2: expected a comparison after "a"/s,
      ),
    })
    await expect(t.app.work(account.id, 'cli:test', (work) => loadProject(work, 'Wrong'))).rejects.toMatchObject({
      kind: 'not_found',
    })
  })

  test('svc projects apply exits 2', async () => {
    const stdin = JSON.stringify(projectOf([text('A', { showIf: 'plan = "pro' })]))
    const { status, stderr } = await svc(t, ['projects', 'apply', '-f', '-', '--account', account.id], { stdin })
    expect(status).toBe(2)
    expect(stderr).toContain('blocks[0].showIf: filter, column 12: expected a closing quote')
  })
})

test('200 blocks of 100 comparisons each are shown and hidden by a second of CPU time', async () => {
  const random = randomOfTest()
  const showIf = Array.from({ length: 100 }, (_, i) => `f${i} != v${random.between(0, 9)}`).join(' and ')
  const render = await rendering(projectOf(Array.from({ length: 200 }, (_, i) => text(`Block ${i}`, { showIf }))))
  await render({})
  const [cost, { text: shown }] = await costOf(() => render({}))
  expect(shown).toContain('Block 199')
  expect(cost).toBeLessThan(1000)
})

test('today is the day of the email', async () => {
  const render = await rendering(projectOf([text('SECRET', { showIf: 'renewal < today+7d' }), text('ALL')]))
  const at = async (renewal: string, now: string) =>
    (await render({ renewal }, Date.parse(now))).text.includes('SECRET')
  expect(await at('2026-11-08', '2026-11-01T23:59:59Z')).toBe(false)
  expect(await at('2026-11-08', '2026-11-02T00:00:00Z')).toBe(true)
  expect(await at('soon', '2026-11-02T00:00:00Z')).toBe(false)
})

test('the length of a value makes no comparison slow', async () => {
  const names = ['x ~ b', 'x < 5', 'x < b', 'x < 2026-01-01', 'x = b']
  const showIf = Array.from({ length: 100 }, (_, i) => names[i % names.length]).join(' or ')
  const condition = parseCondition(showIf)
  for (const one of ['C', 'É', '9']) {
    const x = one.repeat(8 * 1024 * 1024)
    const [cost, meets] = await costOf(() => meetsCondition(condition, { x }, 0))
    expect([meets, cost < 500 ? 'cheap' : cost]).toEqual([one !== 'É', 'cheap'])
  }
})

test('each character is put into lower case by itself', () => {
  const characters = Array.from({ length: 0x110000 }, (_, code) => code).filter(
    (code) => code !== 0 && (code < 0xd800 || code > 0xdfff),
  )
  for (let at = 0; at < characters.length; at += 3_000) {
    const some = characters.slice(at, at + 3_000).filter((code) => code !== 0x22 && code !== 0x5c)
    const lower = some.map((code) => String.fromCodePoint(String.fromCodePoint(code).toLowerCase().codePointAt(0)!))
    const condition = parseCondition(`x ~ "${lower.join('')}"`)
    expect(meetsCondition(condition, { x: String.fromCodePoint(...some) }, 0)).toBe(true)
  }
})

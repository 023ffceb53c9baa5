import { beforeAll, describe, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { applyProjects, currencyDigits, loadProject, priceLines, sampleProject } from '../../src/studio/studio.ts'
import { useAccount, useApp } from '../support/app.ts'
import { projectOf } from './support.ts'

let listId: string

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  listId = (await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'Customers' }))).id
})

const apply = (...documents: unknown[]) => t.app.work(account.id, 'cli:test', (work) => applyProjects(work, documents))
const load = (ref: string) => t.app.work(account.id, 'cli:test', (work) => loadProject(work, ref))

const faultsOf = async (document: unknown): Promise<string[]> => {
  const error = await apply(document).then(
    () => null,
    (thrown: Error) => thrown,
  )
  return error ? error.message.split('; ') : []
}

const long = (length: number) => 'x'.repeat(length)
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const text = { type: 'text', props: { text: 'Hi' } }
const inside = (type: string, levels: number): object =>
  levels === 0 ? { id: 'leaf', ...text } : { id: `l${levels}`, type, props: {}, children: [inside(type, levels - 1)] }

const field = { name: 'a', label: 'A', type: 'text' }
const form = (...fields: object[]) => ({ type: 'form', props: { title: 'T', fields } })
const booking = (changes: object) => ({
  type: 'booking',
  props: {
    title: 'T',
    durationMinutes: 30,
    timezone: 'Europe/Berlin',
    availability: [{ day: 1, from: '09:00', to: '17:00' }],
    days: 14,
    ...changes,
  },
})
const checkout = (changes: object) => ({
  type: 'checkout',
  props: { title: 'T', items: [{ name: 'Mug', quantity: 1, amount: 5 }], currency: 'EUR', ...changes },
})
const item = (changes: object) => checkout({ items: [{ name: 'Mug', quantity: 1, amount: 5, ...changes }] })

describe('accepted files', () => {
  test('the sample project has every type of block and is accepted', async () => {
    const sample = sampleProject('https://example.com/harbour.png')
    await apply(sample)
    expect((await load('Welcome')).content).toEqual(sample)
    const types = new Set<string>(JSON.stringify(sample).match(/"type":"\w+"/g))
    for (const type of 'section columns heading text html image button divider spacer vote rating quiz form booking checkout'.split(
      ' ',
    ))
      expect(types).toContain(`"type":"${type}"`)
  })

  test.each<[string, object]>([
    ['a section', { type: 'section', props: { background: '#fff', padding: 100 }, children: [{ id: 'in', ...text }] }],
    [
      'columns',
      {
        type: 'columns',
        props: { widths: [1, 2] },
        children: [
          { id: 'c', ...text },
          { id: 'd', ...text },
        ],
      },
    ],
    [
      'a section in columns in a section',
      {
        type: 'section',
        children: [
          { id: 'c', type: 'columns', children: [{ id: 's', type: 'section', children: [{ id: 'd', ...text }] }] },
        ],
      },
    ],
    ['a heading', { type: 'heading', props: { text: 'Hello {{ name }}', level: 3, align: 'right' } }],
    ['a text', { type: 'text', props: { text: long(10_000), level: 1, align: 'center' } }],
    [
      'an image without words',
      { type: 'image', props: { src: 'http://example.com/a.png', alt: '', href: 'mailto:a@b.example', width: 80 } },
    ],
    ['an image that a merge tag names', { type: 'image', props: { src: '{{ picture }}', alt: 'x' } }],
    [
      'a button',
      { type: 'button', props: { label: 'Go', url: 'https://example.com/{{ path }}?a={{ b }}#c', align: 'left' } },
    ],
    [
      'a button to a host that a merge tag names',
      { type: 'button', props: { label: 'Go', url: 'https://{{ host }}/x' } },
    ],
    ['a divider without props', { type: 'divider' }],
    ['a spacer', { type: 'spacer', props: { height: 500 } }],
    ['a vote', { type: 'vote', props: { question: 'Q', options: times(10, String) } }],
    ['a rating', { type: 'rating', props: { question: 'Q', max: 10 } }],
    ['a quiz', { type: 'quiz', props: { question: 'Q', options: ['a', 'b'], correct: 1, explanation: 'E' } }],
    ['a form', form({ ...field, required: true }, { ...field, name: 'b', type: 'select', options: ['x'] })],
    ['a form for a list', { type: 'form', props: { title: 'T', fields: [field], listId: 'Customers' } }],
    ['a booking', booking({ days: 366, durationMinutes: 5 })],
    ['a checkout', checkout({ currency: 'jpy', items: [{ name: 'Mug', quantity: 1000, amount: 500 }] })],
    [
      'a free item',
      checkout({
        items: [
          { name: 'A', quantity: 1, amount: 0 },
          { name: 'B', quantity: 1, amount: 0.01 },
        ],
      }),
    ],
  ])('%s', async (_, block) => {
    expect(await faultsOf(projectOf([block]))).toEqual([])
  })

  test('a full theme, and none', async () => {
    const theme = {
      primary: '#ABC',
      background: '#000000',
      text: '#fff',
      font: `"Segoe UI", 'Helvetica Neue', Arial, sans-serif`,
      width: 960,
      logo: 'https://example.com/logo.png',
    }
    expect(await faultsOf(projectOf([text], { theme }))).toEqual([])
    await apply(projectOf([text], { name: 'Plain' }))
    expect((await load('Plain')).content).toMatchObject({ theme: {} })
  })

  test('a list is stored by its id, also when given by name; a list of another account is not found', async () => {
    const of = (ref: string) =>
      projectOf([{ type: 'form', props: { title: 'T', fields: [field], listId: ref } }], { name: 'Form' })
    await apply(of('Customers'))
    expect((await load('Form')).content.blocks[0]).toMatchObject({ props: { listId } })
    expect((await apply(of(listId)))[0]!.outcome).toBe('unchanged')
    const stranger = await t.account()
    const theirs = await t.app.work(stranger.id, 'cli:test', (work) => createList(work, { name: 'Theirs' }))
    expect(await faultsOf(of(theirs.id))).toEqual([`blocks[0].props.listId: there is no list ${theirs.id}`])
  })

  test('a currency is stored in upper case', async () => {
    await apply(projectOf([checkout({ currency: 'usd' })], { name: 'Shop' }))
    expect((await load('Shop')).content.blocks[0]).toMatchObject({ props: { currency: 'USD' } })
  })
})

describe('refused files', () => {
  test.each<[string, object, string]>([
    ['no name', { name: undefined }, 'name is required'],
    ['an empty name', { name: ' ' }, 'name must not be empty'],
    ['a name beyond measure', { name: long(201) }, 'name must be at most 200 characters'],
    ['NUL', { name: 'a\0' }, 'name must not contain NUL characters'],
    ['an unknown property', { colour: 'red' }, 'the project has an unknown property colour'],
    ['no blocks', { blocks: [] }, 'blocks must have at least 1 item'],
    ['blocks that are none', { blocks: 'text' }, 'blocks must be an array'],
    ['a block that is none', { blocks: [null] }, 'blocks[0] must be an object'],
    ['a preheader beyond measure', { preheader: long(501) }, 'preheader must be at most 500 characters'],
    ['a theme with more', { theme: { colour: '#fff' } }, 'theme has an unknown property colour'],
    [
      'a colour that says more',
      { theme: { primary: '#fff;background:url(x)' } },
      'theme.primary must be a colour such as #1a2b3c',
    ],
    ['a colour by name', { theme: { text: 'white' } }, 'theme.text must be a colour such as #1a2b3c'],
    [
      'a font that says more',
      { theme: { font: 'Arial;color:red' } },
      'theme.font must be font names with commas between them',
    ],
    [
      'a font whose quote is open',
      { theme: { font: `"Arial` } },
      'theme.font must be font names with commas between them',
    ],
    ['a mail too wide', { theme: { width: 961 } }, 'theme.width must be at most 960'],
    [
      'a logo from a script',
      { theme: { logo: 'javascript:1' } },
      'theme.logo must be an http or https URL, or start with a merge tag',
    ],
  ])('%s', async (_, changes, fault) => {
    expect(await faultsOf(projectOf([text], changes))).toEqual([fault])
  })

  test.each<[object, string]>([
    [
      { type: 'marquee', props: {} },
      'blocks[0].type must be one of section, columns, heading, text, html, image, button',
    ],
    [{ props: {} }, 'blocks[0].type must be one of'],
    [{ ...text, id: undefined }, 'blocks[0].id is required'],
    [{ ...text, id: 'a b' }, 'blocks[0].id must be 1 to 64 letters'],
    [{ ...text, id: '__proto__' }, 'blocks[0].id must be 1 to 64 letters'],
    [{ ...text, id: long(65) }, 'blocks[0].id must be 1 to 64 letters'],
    [{ ...text, children: [] }, 'blocks[0] has an unknown property children'],
    [{ ...text, style: 'x' }, 'blocks[0] has an unknown property style'],
    [{ type: 'text' }, 'blocks[0].props is required'],
    [{ type: 'text', props: { text: '' } }, 'blocks[0].props.text must not be empty'],
    [{ type: 'text', props: { text: long(10_001) } }, 'blocks[0].props.text must be at most 10000 characters'],
    [{ type: 'text', props: { text: 'x', html: 'y' } }, 'blocks[0].props has an unknown property html'],
    [
      { type: 'text', props: { text: 'x', align: 'justify' } },
      'blocks[0].props.align must be one of left, center, right',
    ],
    [{ type: 'heading', props: { text: 'x', level: 4 } }, 'blocks[0].props.level must be at most 3'],
    [{ type: 'heading', props: { text: 'x', level: 1.5 } }, 'blocks[0].props.level must be a whole number'],
    [{ type: 'section', props: {} }, 'blocks[0].children is required'],
    [{ type: 'section', props: {}, children: [] }, 'blocks[0].children must have at least 1 item'],
    [
      { type: 'section', props: { padding: 101 }, children: [{ id: 'x', ...text }] },
      'blocks[0].props.padding must be at most 100',
    ],
    [
      { type: 'section', props: { background: 'red' }, children: [{ id: 'x', ...text }] },
      'blocks[0].props.background must be a colour',
    ],
    [
      { type: 'section', props: {}, children: [{ id: 'x', type: 'y' }] },
      'blocks[0].children[0].type must be one of section',
    ],
    [
      {
        type: 'columns',
        props: { widths: [1] },
        children: [
          { id: 'x', ...text },
          { id: 'y', ...text },
        ],
      },
      'blocks[0].props.widths must have a width for each',
    ],
    [
      { type: 'columns', props: { widths: [0] }, children: [{ id: 'x', ...text }] },
      'blocks[0].props.widths[0] must be more than 0',
    ],
    [
      { type: 'columns', children: times(7, (i) => ({ id: `c${i}`, ...text })) },
      'blocks[0].children must have at most 6 items, a column each',
    ],
    [
      { type: 'columns', children: [{ id: 'c', type: 'columns', children: [{ id: 'd', ...text }] }] },
      'blocks[0].children[0] must not be inside columns',
    ],
    [{ type: 'image', props: { src: 'https://x.example/a.png' } }, 'blocks[0].props.alt is required'],
    [
      { type: 'image', props: { src: 'mailto:a@b.example', alt: '' } },
      'blocks[0].props.src must be an http or https URL',
    ],
    [
      { type: 'image', props: { src: 'data:image/png;base64,AA', alt: '' } },
      'blocks[0].props.src must be an http or https URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: 'javascript:alert(1)' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: ' javascript:alert(1)' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: 'java{{ x }}script:alert(1)' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: 'java\nscript:alert(1)' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: 'https://' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: '/path' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [
      { type: 'button', props: { label: 'x', url: 'ftp://example.com' } },
      'blocks[0].props.url must be an http, https or mailto URL',
    ],
    [{ type: 'button', props: { url: 'https://a.example' } }, 'blocks[0].props.label is required'],
    [{ type: 'divider', props: { height: 0 } }, 'blocks[0].props.height must be at least 1'],
    [{ type: 'spacer', props: { height: 501 } }, 'blocks[0].props.height must be at most 500'],
    [{ type: 'vote', props: { question: 'Q', options: ['a'] } }, 'blocks[0].props.options must have at least 2 items'],
    [
      { type: 'vote', props: { question: 'Q', options: times(11, String) } },
      'blocks[0].props.options must have at most 10 items',
    ],
    [{ type: 'vote', props: { question: 'Q', options: ['a', 'a'] } }, 'blocks[0].props.options[1] is a duplicate'],
    [{ type: 'vote', props: { options: ['a', 'b'] } }, 'blocks[0].props.question is required'],
    [{ type: 'rating', props: { question: 'Q', max: 2 } }, 'blocks[0].props.max must be at least 3'],
    [{ type: 'rating', props: { question: 'Q', max: 11 } }, 'blocks[0].props.max must be at most 10'],
    [
      { type: 'quiz', props: { question: 'Q', options: ['a', 'b'], correct: 2 } },
      'blocks[0].props.correct must be the index of an option',
    ],
    [
      { type: 'quiz', props: { question: 'Q', options: ['a', 'b'], correct: -1 } },
      'blocks[0].props.correct must be at least 0',
    ],
    [form(), 'blocks[0].props.fields must have at least 1 item'],
    [
      form({ ...field, type: 'password' }),
      'blocks[0].props.fields[0].type must be one of text, email, number, select, checkbox, textarea',
    ],
    [form({ ...field, type: 'select' }), 'blocks[0].props.fields[0].options is required'],
    [form({ ...field, options: ['x'] }), 'blocks[0].props.fields[0].options is only allowed with type select'],
    [form(field, field), 'blocks[0].props.fields[1].name is a duplicate'],
    [form({ ...field, name: '__proto__' }), 'blocks[0].props.fields[0].name must be another name'],
    [form({ ...field, pattern: '.' }), 'blocks[0].props.fields[0] has an unknown property pattern'],
    [
      { type: 'form', props: { title: 'T', fields: [field], listId: 'Nobody' } },
      'blocks[0].props.listId: there is no list Nobody',
    ],
    [booking({ timezone: 'Mars/Base' }), 'blocks[0].props.timezone must be a time zone such as Europe/Berlin'],
    [booking({ timezone: '+02:00' }), 'blocks[0].props.timezone must be a time zone such as Europe/Berlin'],
    [booking({ durationMinutes: 0 }), 'blocks[0].props.durationMinutes must be at least 5'],
    [booking({ days: 0 }), 'blocks[0].props.days must be at least 1'],
    [booking({ availability: [] }), 'blocks[0].props.availability must have at least 1 item'],
    [
      booking({ availability: [{ day: 8, from: '09:00', to: '10:00' }] }),
      'blocks[0].props.availability[0].day must be at most 7',
    ],
    [
      booking({ availability: [{ day: 1, from: '9:00', to: '10:00' }] }),
      'blocks[0].props.availability[0].from must be a time of day such as 09:00',
    ],
    [
      booking({ availability: [{ day: 1, from: '10:00', to: '10:00' }] }),
      'blocks[0].props.availability[0].to must be later than from',
    ],
    [checkout({ currency: 'XYZ' }), 'blocks[0].props.currency must be a currency such as EUR'],
    [checkout({ items: [] }), 'blocks[0].props.items must have at least 1 item'],
    [item({ quantity: 0 }), 'blocks[0].props.items[0].quantity must be at least 1'],
    [item({ quantity: 1.5 }), 'blocks[0].props.items[0].quantity must be a whole number'],
    [item({ amount: -1 }), 'blocks[0].props.items[0].amount must be at least 0'],
    [item({ amount: 1.005 }), 'blocks[0].props.items[0].amount must have at most two decimals'],
    [item({ amount: '5' }), 'blocks[0].props.items[0].amount must be a number'],
    [item({ amount: 0 }), 'blocks[0].props.items must cost something in all'],
    [
      checkout({ currency: 'JPY', items: [{ name: 'A', quantity: 1, amount: 1.5 }] }),
      'blocks[0].props.items[0].amount must have 0 decimals in JPY',
    ],
    [
      checkout({ currency: 'MGA', items: [{ name: 'A', quantity: 1, amount: 0.4 }] }),
      'blocks[0].props.items[0].amount must have 0 decimals in MGA',
    ],
  ])('the block %j, with its path', async (block, fault) => {
    const faults = await faultsOf({ name: 'Faulty', blocks: [{ id: 'b0', ...block }] })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(fault)
  })

  test.each(['', 'x', 'de_DE', 'de-DE-DE', 'en-1a'])('the language "%s"', async (lang) => {
    expect(await faultsOf(projectOf([text], { lang }))).toEqual(['lang must be a language such as en or pt-BR'])
  })

  test('a duplicate id at any depth', async () => {
    const blocks = [
      { id: 'a', ...text },
      { id: 's', type: 'section', children: [{ id: 'a', ...text }] },
    ]
    expect(await faultsOf({ name: 'Twins', blocks })).toEqual(['blocks[1].children[0].id is the id of blocks[0] too'])
  })

  test('the 201st block, and a block nested 11 deep', async () => {
    const many = (count: number) =>
      projectOf(
        times(count, () => text),
        { name: 'Many' },
      )
    expect(await faultsOf(many(200))).toEqual([])
    expect(await faultsOf(many(201))).toEqual(['blocks must have at most 200 blocks in all'])
    expect(await faultsOf(projectOf([inside('section', 9)], { name: 'Deep' }))).toEqual([])
    const [fault, ...more] = await faultsOf(projectOf([inside('section', 10)], { name: 'Deep' }))
    expect(fault).toMatch(/^blocks\[0\](\.children\[0\]){10} is nested more than 10 deep$/)
    expect(more).toEqual([])
  })

  test('all faults at once, each with its path', async () => {
    const blocks = [
      { id: 'a', type: 'text', props: { text: 'x', zz: 1, yy: 2 } },
      { id: 'a', type: 'marquee' },
      {
        id: 'c',
        type: 'section',
        props: {},
        children: [{ id: 'd', type: 'rating', props: { question: 'Q', max: 99 } }],
      },
      { id: 'e', type: 'form', props: { title: 'T', fields: [field], listId: 'Nobody' } },
    ]
    expect(await faultsOf({ name: 'All', theme: { primary: 'red' }, blocks })).toEqual([
      'theme.primary must be a colour such as #1a2b3c',
      'blocks[0].props has an unknown property zz',
      'blocks[0].props has an unknown property yy',
      expect.stringMatching(/^blocks\[1\]\.type must be one of section, .*, checkout$/),
      'blocks[2].children[0].props.max must be at most 10',
      'blocks[1].id is the id of blocks[0] too',
      'blocks[3].props.listId: there is no list Nobody',
    ])
  })

  test.each([null, 'text', 7, [], [{ name: 'x' }]])('%j, which is not a project', async (document) => {
    expect(await faultsOf(document)).toEqual(['a project must be an object with name and blocks'])
  })
})

test.each([
  ['HUF', 2],
  ['IDR', 2],
  ['JPY', 0],
  ['MGA', 0],
  ['KWD', 3],
  ['EUR', 2],
])('%s is charged with %i decimals, even if it is written with others', (currency, digits) => {
  expect(currencyDigits(currency)).toBe(digits)
  const items = [{ name: 'Mug', quantity: 3, amount: 1500 }]
  const { total } = priceLines({ items, currency })
  const symbol = { EUR: '€', JPY: '¥' }[currency] ?? `${currency} `
  expect(total).toBe(`${symbol}4,500${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`)
})

test.each([
  ['de', '1.234 × Mug', '1.234,50 €'],
  ['fr', '1 234 × Mug', '1 234,50 €'],
  ['en-GB', '1,234 × Mug', '€1,234.50'],
  [null, '1,234 × Mug', '€1,234.50'],
])('prices in the language %s', (lang, name, total) => {
  const priced = priceLines(
    {
      items: [
        { name: 'Mug', quantity: 1_234, amount: 1 },
        { name: 'Bag', quantity: 1, amount: 0.5 },
      ],
      currency: 'EUR',
    },
    lang,
  )
  expect(priced.items[0]![0].replace('\u202f', ' ')).toBe(name)
  expect(priced.total).toBe(total)
})

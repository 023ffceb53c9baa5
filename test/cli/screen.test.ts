import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Context } from '../../src/cli/command.ts'
import { repeated, watchIn } from '../../src/cli/screen.ts'
import { drawScreen } from '../../src/deals/board.screen.commands.ts'
import type { Board } from '../../src/deals/deals.ts'
import { useAccount, useApp } from '../support/app.ts'
import { type Step, svc } from '../support/cli.ts'
import { settlesWithin } from '../support/eventually.ts'

const [down, right, enter, escapeKey, ctrlC] = ['\u001b[B', '\u001b[C', '\r', '\u001b', '\u0003']
const [taken, givenBack] = ['\u001b[?1049h', '\u001b[?1049l']

const json = async (...args: string[]) => (await svc(t, [...args, '--account', account.id, '--json'])).json
const stageOf = async (title: string): Promise<string> =>
  (await json('deals')).deals.find((deal: { title: string }) => deal.title === title).stage

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  await json('lists', 'create', '--name', 'People')
  await json('contacts', 'upsert', '--list', 'People', '--email', 'ada@people.example')
  for (const title of ['Roof', 'Door']) await json('deals', 'create', '--title', title, '--email', 'ada@people.example')
})

const deal = (n: number): Board['stages'][number]['deals'][number] => ({
  ...{ id: `deal_${n}`, email: 'someone.with.a.long.name@people.example', rowId: 'row_1', listId: 'lst_1' },
  ...{ title: `日本語 deal ${n} \u001b[2J with a title that is long`, value: 12345.5, currency: 'EUR' },
  ...{ pipelineId: 'pipe_1', stageId: 'stg_1', stage: 'S', status: 'open' as const, createdAt: 0, updatedAt: 0 },
  source: 'manual' as const,
})
const board = (stages: number, deals: number) =>
  ({
    pipeline: { id: 'pipe_1', name: 'Sales', isDefault: true, stages: [] },
    stages: Array.from({ length: stages }, (_, i) => ({
      ...{ id: `stg_${i}`, name: `Stage number ${i}`, kind: 'open', count: deals + 3, totals: { EUR: 5, USD: 1e6 } },
      deals: Array.from({ length: deals }, (_, n) => deal(n)),
    })),
  }) as unknown as Board

test.each([
  [80, 24],
  [110, 30],
  [40, 10],
])('at %i×%i the board fits, with the chosen deal in it', (columns, rows) => {
  for (const [stage, card] of [
    [0, 0],
    [8, 40],
  ] as const) {
    const view = { board: board(9, 50), stage, card, target: null, message: '' }
    const lines = drawScreen(view, { columns, rows })
    expect(lines).toHaveLength(rows)
    const chosen = lines.filter((line) => line.includes('\u001b[7m'))
    // The name of the stage and the three lines of the deal.
    expect(chosen).toHaveLength(4)
    expect(chosen[1]).toContain(`deal ${card}`)
    for (const line of lines) {
      const text = stripVTControlCharacters(line)
      expect(text).not.toMatch(/\p{Cc}/u)
      // Each of these letters is two cells wide.
      expect(text.length + (text.match(/[日本語]/g)?.length ?? 0)).toBeLessThanOrEqual(columns)
    }
  }
})

test('a database that does not answer keeps neither q nor a signal waiting', async () => {
  const silent = () => new Promise<never>(() => {})
  const drawn: string[][] = []
  const screen = {
    room: () => ({ columns: 80, rows: 24 }),
    draw: (lines: readonly string[]) => void drawn.push([...lines]),
    key: () => Promise.resolve('q'),
  }
  const stop = new AbortController()
  expect(await settlesWithin(watchIn(screen, stop.signal, 2000, silent), 3000)).toBe(true)
  expect(drawn.at(-1)?.at(-1)).toBe('every 2 s · q quit')
  const printing = repeated({ out: {}, signal: stop.signal } as Context, 2000, silent)
  stop.abort()
  expect(await settlesWithin(printing, 3000)).toBe(true)
})

test('a board without deals and a board of one stage are drawn', () => {
  const view = { board: board(1, 0), stage: 0, card: 0, target: null, message: '' }
  expect(drawScreen(view, { columns: 80, rows: 24 })).toHaveLength(24)
})

describe('on a terminal', () => {
  const take = (args: string[], steps: Step[], env: Record<string, string> = {}) =>
    svc(t, [...args, '--account', account.id], { env, steps, tty: { columns: 80, rows: 24 } })

  test('deals board: arrows choose a deal, m and Enter move it, Escape does not, q restores the terminal', async () => {
    const { status, text } = await take(
      ['deals', 'board'],
      [
        ['m move it', down],
        ['m move it', 'm'],
        ['Move "Roof" to New?', `${right}`],
        ['Move "Roof" to Qualified?', escapeKey],
        ['m move it', 'm'],
        ['Move "Roof" to New?', `${right}${right}`],
        ['Move "Roof" to Proposal?', enter],
        ['Moved "Roof" to Proposal.', 'q'],
      ],
    )
    expect([status, await stageOf('Roof'), await stageOf('Door')]).toEqual([0, 'Proposal', 'New'])
    expect(text).toContain(taken)
    expect(text.lastIndexOf(givenBack)).toBeGreaterThan(text.lastIndexOf(taken))
  })

  test('Ctrl-C is exit 130 and restores the terminal', async () => {
    for (const [args, seen] of [
      [['deals', 'board'], 'm move it'],
      [['status', '--watch'], 'q quit'],
    ] as const) {
      const { status, text } = await take([...args], [[seen, ctrlC]])
      expect([args, status, text.endsWith(givenBack)]).toEqual([args, 130, true])
    }
  })

  test('status --watch redraws until q', async () => {
    const { status, text } = await take(
      ['status', '--watch'],
      [
        ['schema', ''],
        ['schema', 'q'],
      ],
    )
    expect(status).toBe(0)
    expect(text.endsWith(givenBack)).toBe(true)
  })

  test.each([[['status', '--watch']], [['stats', '--watch']], [['deals', 'board']]])(
    '%j keeps the last cell of a line of the full width: nothing is erased behind a text',
    async (args) => {
      const { text } = await take(args, [['q quit', 'q']])
      const beforeErasures = text.replaceAll('\u001b[J', '\u001b[K').split('\u001b[K').slice(0, -1)
      expect(beforeErasures.filter((shown) => !shown.endsWith('\n') && !shown.endsWith('\u001b[H'))).toEqual([])
    },
  )

  test('a failure within the screen is reported after the terminal is restored', async () => {
    const { status, text } = await take(['deals', 'board', '--pipeline', 'Nope'], [])
    expect([status, text.slice(text.lastIndexOf(givenBack))]).toEqual([
      3,
      expect.stringContaining('There is no pipeline Nope'),
    ])
  })

  test('on a terminal without cursor control, and with --plain, the board is printed', async () => {
    for (const [args, env] of [
      [['deals', 'board'], { TERM: 'dumb' }],
      [['deals', 'board', '--plain'], {}],
    ] as const) {
      const { status, text } = await take([...args], [], env)
      expect([status, text]).toEqual([0, expect.stringContaining('Roof')])
      expect(text).not.toContain(taken)
    }
  })
})

import type { Context } from '../cli/command.ts'
import { fitted, printable } from '../cli/output.ts'
import { onScreen, reversed, type Screen } from '../cli/screen.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { cardOf, gap, maxColumnWidth, minColumnWidth, sumsOf } from './board.draw.commands.ts'
import { moveOne } from './deals.move.commands.ts'
import type { Board, Deal } from './deals.ts'

const refreshMs = 2000
const cardLines = 3
/** Title, empty line, and the four lines above a column's cards: name, count, sums and rule. */
const headLines = 6

interface View {
  board: Board
  /** The indexes of the selected stage and deal. */
  stage: number
  card: number
  /** The index of the target stage while a move is being confirmed. */
  target: number | null
  message: string
}

const chosenOf = ({ board, stage, card }: View): Deal | undefined => board.stages[stage]?.deals[card]

const clamp = (value: number, most: number): number => Math.max(0, Math.min(value, most))

/** Returns the range of entries that fit and include the selected one. */
const windowOf = (count: number, fitting: number, chosen: number): [from: number, to: number] => {
  const from = clamp(chosen - fitting + 1, Math.max(count - fitting, 0))
  return [from, Math.min(from + fitting, count)]
}

const columnLines = (view: View, at: number, width: number, cards: number): string[] => {
  const stage = view.board.stages[at]!
  const isChosen = at === (view.target ?? view.stage)
  const show = (text: string) => fitted(printable(text), width)
  const name = show(`${stage.name}${stage.kind === 'open' ? '' : ` (${stage.kind})`}`)
  const [from, to] = windowOf(stage.deals.length, cards, at === view.stage ? view.card : 0)
  const left = stage.count - (to - from)
  return [
    isChosen ? reversed(name) : name,
    show(`${quantity(stage.count, 'deal')}${left > 0 ? `, ${left} more ↕` : ''}`),
    show(sumsOf(stage).join(', ')),
    '─'.repeat(width),
    ...stage.deals.slice(from, to).flatMap((deal, i) => {
      const lines = cardOf(deal).map(show)
      return at === view.stage && from + i === view.card ? lines.map(reversed) : lines
    }),
  ]
}

/** Shortens a name for a sentence of one line. */
const cut = (text: string): string => fitted(printable(text), Math.min(text.length, 18)).trimEnd()

const footerOf = (view: View): string => {
  const deal = chosenOf(view)
  if (view.target !== null && deal)
    return `Move "${cut(deal.title)}" to ${cut(view.board.stages[view.target]!.name)}?  ←→ · Enter moves it · Esc cancels`
  return view.message || '←→ stage · ↑↓ deal · m move it · q quit'
}

/** Returns the board as lines that fill the terminal. */
export const drawScreen = (view: View, { columns, rows }: ReturnType<Screen['room']>): string[] => {
  const { stages, pipeline } = view.board
  const fitting = clamp(Math.floor((columns + gap) / (minColumnWidth + gap)), stages.length)
  const [from, to] = windowOf(stages.length, Math.max(fitting, 1), view.target ?? view.stage)
  const shown = to - from
  const width = Math.min(Math.floor((columns - gap * (shown - 1)) / shown), maxColumnWidth)
  const cards = Math.max(Math.floor((rows - headLines - 1) / cardLines), 1)
  const all = stages.slice(from, to).map((_, i) => columnLines(view, from + i, width, cards))
  const hidden = stages.length - shown > 0 ? `  (stages ${from + 1} to ${to} of ${stages.length})` : ''
  const body = Array.from({ length: rows - 3 }, (_, line) =>
    all
      .map((column) => column[line] ?? ' '.repeat(width))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
  const line = (text: string) => fitted(printable(text), columns).trimEnd()
  return [line(`${pipeline.name}${hidden}`), '', ...body, line(footerOf(view))]
}

/** Returns the view with a newly read board and the same selected deal, which may be in another stage. */
const withBoard = (view: View, board: Board): View => {
  const id = chosenOf(view)?.id
  const stage = board.stages.findIndex(({ deals }) => deals.some((deal) => deal.id === id))
  if (id !== undefined && stage >= 0)
    return { ...view, board, stage, card: board.stages[stage]!.deals.findIndex((deal) => deal.id === id) }
  const at = clamp(view.stage, board.stages.length - 1)
  return { ...view, board, target: null, stage: at, card: clamp(view.card, (board.stages[at]?.deals.length ?? 1) - 1) }
}

const withSelection = (view: View, key: string): View => {
  const { stages } = view.board
  const side = key === 'left' ? -1 : key === 'right' ? 1 : 0
  if (view.target !== null) return { ...view, target: clamp(view.target + side, stages.length - 1) }
  const stage = clamp(view.stage + side, stages.length - 1)
  const down = key === 'up' ? -1 : key === 'down' ? 1 : 0
  return { ...view, stage, card: clamp(view.card + down, stages[stage]!.deals.length - 1), message: '' }
}

const move = async (context: Context, view: View): Promise<View> => {
  const deal = chosenOf(view)
  const to = view.board.stages[view.target!]!
  if (!deal) return { ...view, target: null }
  try {
    const { moved } = await moveOne(context, deal.id, to.id, false)
    return {
      ...view,
      target: null,
      message: moved ? `Moved "${deal.title}" to ${to.name}.` : 'The deal is already in this stage.',
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { ...view, target: null, message: `error: ${error.message}` }
  }
}

/** Returns the view after a key; null to quit. */
const pressed = async (context: Context, view: View, key: string): Promise<View | null> => {
  if (['left', 'right', 'up', 'down'].includes(key)) return withSelection(view, key)
  if (view.target !== null) {
    if (key === 'return') return move(context, view)
    return key === 'escape' || key === 'q' ? { ...view, target: null } : view
  }
  if (key === 'q') return null
  return key === 'm' && chosenOf(view) ? { ...view, target: view.stage, message: '' } : view
}

/** Shows the board in full screen until `q`, refreshed every two seconds. Deals can be moved in it. */
export const showScreen = (context: Context, load: () => Promise<Board>): Promise<void> =>
  onScreen(context.signal, async (screen) => {
    let view: View | null = { board: await load(), stage: 0, card: 0, target: null, message: '' }
    let readAt = performance.now()
    while (view && !context.signal.aborted) {
      screen.draw(drawScreen(view, screen.room()))
      const key = await screen.key(refreshMs)
      const before: View = view
      view = key === null ? before : await pressed(context, before, key)
      const isMoved = key === 'return' && before.target !== null
      if (view && (isMoved || performance.now() - readAt >= refreshMs)) {
        view = withBoard(view, await load())
        readAt = performance.now()
      }
    }
  })

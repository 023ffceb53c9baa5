import type { Command } from 'commander'
import type { Cli } from '../cli/command.ts'
import { fitted, printable } from '../cli/output.ts'
import { pageRequest } from '../lib/page.ts'
import type { Board, BoardStage, Deal } from './deals.ts'

const leastWidth = 18
const gap = 2

const money = (value: number, currency: string) =>
  `${value.toLocaleString('en', { minimumFractionDigits: value % 1 === 0 ? 0 : 2, maximumFractionDigits: 2 })} ${currency}`

const sumsOf = ({ totals }: BoardStage) => Object.entries(totals).map(([currency, total]) => money(total, currency))

const cardOf = ({ title, value, currency, email }: Deal): string[] => [
  title,
  `  ${money(value, currency)}`,
  `  ${email}`,
]

/** `sums` is how many lines the sums of its neighbours take: the first cards stand side by side. */
const columnOf = (stage: BoardStage, sums: number, width: number): string[] => {
  const { name, kind, count, deals } = stage
  const rest = count > deals.length ? [`… ${count - deals.length} more`] : []
  const lines = [
    `${name}${kind === 'open' ? '' : ` (${kind})`}`,
    `${count} ${count === 1 ? 'deal' : 'deals'}`,
    ...Array.from({ length: sums }, (_, i) => sumsOf(stage)[i] ?? ''),
    '─'.repeat(width),
    ...deals.flatMap(cardOf),
    ...rest,
  ]
  return lines.map((line) => fitted(printable(line), width))
}

const bandOf = (stages: readonly BoardStage[], width: number): string[] => {
  const sums = Math.max(...stages.map((stage) => sumsOf(stage).length))
  const columns = stages.map((stage) => columnOf(stage, sums, width))
  const height = Math.max(...columns.map((column) => column.length))
  return Array.from({ length: height }, (_, line) =>
    columns
      .map((column) => column[line] ?? ' '.repeat(width))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

/** The board as lines of at most `width` cells: a column for each stage, in as many bands as the width asks for. */
export const drawBoard = ({ pipeline, stages }: Board, width: number): string[] => {
  const fitting = Math.max(Math.floor((width + gap) / (leastWidth + gap)), 1)
  const bands = Math.ceil(stages.length / fitting)
  const perBand = Math.ceil(stages.length / bands)
  const columnWidth = Math.min(Math.floor((width - gap * (perBand - 1)) / perBand), 40)
  const lines = [fitted(printable(pipeline.name), width).trimEnd()]
  for (let at = 0; at < stages.length; at += perBand) {
    lines.push('', ...bandOf(stages.slice(at, at + perBand), columnWidth))
  }
  return lines
}

/** `svc deals board` */
export const addBoard = (noun: Command, cli: Cli): void => {
  noun
    .command('board')
    .description('Show a pipeline as a board: a column for each stage, with its count and its sum')
    .option('--pipeline <id|name>', 'left out: the default one')
    .option('--limit <n>', 'deals shown of each stage, the newest, 1 to 1000', '50')
    .action(
      cli.run(async ({ out, work }, flags: { pipeline?: string; limit: string }) => {
        const { boardOf, findPipeline } = await import('./deals.ts')
        const { limit } = pageRequest(flags)
        const board = await work(async (w) => boardOf(w, await findPipeline(w, flags.pipeline), limit))
        if (out.format === 'json') return out.one(board)
        if (out.format === 'table') return drawBoard(board, process.stdout.columns || 80).forEach(out.line)
        await out.list(
          'deals',
          board.stages.flatMap(({ deals }) => deals),
          [
            ['STAGE', (deal) => deal.stage],
            ['ID', (deal) => deal.id],
            ['TITLE', (deal) => deal.title],
            ['VALUE', (deal) => deal.value],
            ['CURRENCY', (deal) => deal.currency],
            ['EMAIL', (deal) => deal.email],
          ],
        )
      }),
    )
}

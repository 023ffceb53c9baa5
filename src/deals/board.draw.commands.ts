import { fitted, moneyText, printable } from '../cli/output.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { Board, BoardStage, Deal } from './deals.ts'

export const minColumnWidth = 18
export const maxColumnWidth = 40
export const gap = 2

export const sumsOf = ({ totals }: BoardStage) =>
  Object.entries(totals).map(([currency, total]) => moneyText({ amount: total, currency }))

export const cardOf = ({ title, value, currency, email }: Deal): string[] => [
  title,
  `  ${moneyText({ amount: value, currency })}`,
  `  ${email}`,
]

/**
 * Returns the lines of a stage. `sums` is the maximum number of lines for sums in this row of columns, so that the first cards
 * are aligned.
 */
const columnOf = (stage: BoardStage, sums: number, width: number): string[] => {
  const { name, kind, count, deals } = stage
  const rest = count > deals.length ? [`… ${number(count - deals.length)} more`] : []
  const lines = [
    `${name}${kind === 'open' ? '' : ` (${kind})`}`,
    quantity(count, 'deal'),
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

/** Returns the board as lines of at most `width` cells: a column for each stage, in several rows of columns if needed. */
export const drawBoard = ({ pipeline, stages }: Board, width: number): string[] => {
  const perWidth = Math.max(Math.floor((width + gap) / (minColumnWidth + gap)), 1)
  const bands = Math.ceil(stages.length / perWidth)
  const perBand = Math.ceil(stages.length / bands)
  const columnWidth = Math.min(Math.floor((width - gap * (perBand - 1)) / perBand), maxColumnWidth)
  const lines = [fitted(printable(pipeline.name), width).trimEnd()]
  for (let at = 0; at < stages.length; at += perBand) {
    lines.push('', ...bandOf(stages.slice(at, at + perBand), columnWidth))
  }
  return lines
}

import { statement } from '../store/statement.ts'
import type { Operation } from '../store/work.ts'

/**
 * The settings of a scan. With old statistics the planner may expect few rows and join by nested loops. Compiling the short condition
 * (JIT) costs more than it saves. Unlike all other statements (store/database.ts) a scan reads most of a table: in order, and with a
 * second process.
 */
const settings = {
  enable_nestloop: 'off',
  jit: 'off',
  enable_seqscan: 'on',
  max_parallel_workers_per_gather: '1',
} as const

/** SQL array with an expression for each setting. */
const arrayOf = (expression: (name: string, value: string, place: number) => string): string =>
  `array[${Object.entries(settings).map(([name, value], i) => expression(name, value, i + 1))}]`

const prepareScan = statement(
  'prepare-scan',
  { row: { before: '_text', now: '_text' } },
  `select ${arrayOf((name) => `current_setting('${name}')`)} as before,
     ${arrayOf((name, value) => `set_config('${name}', '${value}', true)`)} as now`,
)

// Restores the settings: prepared statements keep the plans that they get under them.
const finishScan = statement(
  'finish-scan',
  { row: { now: '_text' }, parameters: { before: '_text' } },
  `select ${arrayOf((name, _, place) => `set_config('${name}', (:before::text[])[${place}], true)`)} as now`,
)

/** Runs a statement that reads a whole list with the sets of a filter (`Matcher.sets`). */
export const scanList = async <Row extends object>(
  { sql }: Pick<Operation, 'sql'>,
  text: string,
  params: readonly unknown[],
): Promise<Row[]> => {
  const [found] = await sql(prepareScan)
  const rows = await sql<Row>(text, params)
  await sql(finishScan, { before: found!.before })
  return rows
}

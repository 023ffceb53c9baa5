import { statement } from '../store/statement.ts'
import type { Operation } from '../store/work.ts'

// With old statistics the planner may expect few rows and join by nested loops. Compiling the short condition (JIT) costs more than it
// saves. Unlike all other statements (store/database.ts) a scan reads most of a table: in order, and with a second process.
const prepareScan = statement(
  'prepare-scan',
  { row: { before: '_text', now: '_text' } },
  `select array[current_setting('enable_nestloop'), current_setting('jit'), current_setting('enable_seqscan'),
       current_setting('max_parallel_workers_per_gather')] as before,
     array[set_config('enable_nestloop', 'off', true), set_config('jit', 'off', true), set_config('enable_seqscan', 'on', true),
       set_config('max_parallel_workers_per_gather', '1', true)] as now`,
)

// Restores the settings: prepared statements keep the plans that they get under them.
const finishScan = statement<{ now: string[] }>(
  'finish-scan',
  { now: '_text' },
  `select array[set_config('enable_nestloop', $1, true), set_config('jit', $2, true), set_config('enable_seqscan', $3, true),
     set_config('max_parallel_workers_per_gather', $4, true)] as now`,
)

/** Runs a statement that reads a whole list with the sets of a filter (`Matcher.sets`). */
export const scanList = async <Row extends object>(
  { sql }: Pick<Operation, 'sql'>,
  text: string,
  params: readonly unknown[],
): Promise<Row[]> => {
  const [settings] = await sql(prepareScan)
  const rows = await sql<Row>(text, params)
  await sql(finishScan, settings!.before)
  return rows
}

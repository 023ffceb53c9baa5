import { statement } from '../store/statement.ts'
import type { Operation } from '../store/work.ts'

// With old statistics the planner may expect few rows and join by nested loops. Compiling the short condition (JIT) costs more than it saves.
const prepareScan = statement<{ nestloop: string; jit: string; newNestloop: string; newJit: string }>(
  'prepare-scan',
  { nestloop: 'text', jit: 'text', newNestloop: 'text', newJit: 'text' },
  `select current_setting('enable_nestloop') as nestloop, current_setting('jit') as jit,
     set_config('enable_nestloop', 'off', true) as "newNestloop", set_config('jit', 'off', true) as "newJit"`,
)

// Restores the settings: prepared statements keep the plans that they get under them.
const finishScan = statement<{ nestloop: string; jit: string }>(
  'finish-scan',
  { nestloop: 'text', jit: 'text' },
  `select set_config('enable_nestloop', $1, true) as nestloop, set_config('jit', $2, true) as jit`,
)

/** Runs a statement that reads a whole list with the sets of a filter (`Matcher.sets`). */
export const scanList = async <Row extends object>(
  { sql }: Pick<Operation, 'sql'>,
  text: string,
  params: readonly unknown[],
): Promise<Row[]> => {
  const [before] = await sql(prepareScan)
  const rows = await sql<Row>(text, params)
  await sql(finishScan, [before!.nestloop, before!.jit])
  return rows
}

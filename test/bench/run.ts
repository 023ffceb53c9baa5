// `npm run bench [name[=size] …]`: each figure of the product beside its limit, both measured in the same run.
import { createOutput } from '../../src/cli/output.ts'
import { type Bench, coresOfMachine, type Row, withBench } from './support.ts'

const benches: Record<string, () => Promise<{ bench(bench: Bench, size?: number): Promise<Row[]> }>> = {
  startup: () => import('./startup.ts'),
  lookup: () => import('./lookup.ts'),
  batch: () => import('./batch.ts'),
  singles: () => import('./singles.ts'),
  deals: () => import('./deals.ts'),
  events: () => import('./events.ts'),
  commits: () => import('./commits.ts'),
  daemons: () => import('./daemons.ts'),
  import: () => import('./import.ts'),
  conflicts: () => import('./conflicts.ts'),
  deliveries: () => import('./deliveries.ts'),
  queue: () => import('./queue.ts'),
  latency: () => import('./latency.ts'),
  fairness: () => import('./fairness.ts'),
  growth: () => import('./growth.ts'),
  segments: () => import('./segments.ts'),
  results: () => import('./results.ts'),
  journeys: () => import('./journeys.ts'),
  send: () => import('./send.ts'),
  'large-mail': () => import('./large-mail.ts'),
  mail: () => import('./mail.ts'),
  broadcasts: () => import('./broadcasts.ts'),
  campaigns: () => import('./campaigns.ts'),
  engagement: () => import('./engagement.ts'),
  attendance: () => import('./attendance.ts'),
  hostile: () => import('./hostile.ts'),
}

// It has a pass or fail result, not a figure.
if (process.argv[2] === 'chaos') {
  const { chaos } = await import('./chaos.ts')
  process.exit(await chaos(process.argv.slice(3)))
}

const asked = process.argv.slice(2).map((arg) => arg.split('=') as [name: string, size?: string])
const unknown = asked.flatMap(([name]) => (benches[name] ? [] : name))
if (unknown.length > 0) {
  process.stderr.write(`There is no bench ${unknown.join(', ')}: ${Object.keys(benches).join(', ')}\n`)
  process.exit(2)
}

const rows: string[][] = []
const wanted = asked.length > 0 ? asked : Object.keys(benches).map((name): [string, string?] => [name])
for (const [name, size] of wanted) {
  process.stderr.write(`${name} …\n`)
  const { bench } = await benches[name]!()
  for (const { name: title, ours, limit, unit, ratio, bar, ok, cores } of await withBench((b) =>
    bench(b, size === undefined ? undefined : Number(size)),
  )) {
    const number = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 4 })
    const busy = cores && [cores.ours, cores.limit, cores.machine].map((count) => count.toFixed(2)).join(' · ')
    const cells = [title, number(ours), number(limit), unit, ratio.toFixed(2), bar, ok ? 'ok' : 'MISSED', busy ?? '']
    process.stderr.write(`  ${cells.join('  ')}\n`)
    rows.push(cells)
  }
}

const { stdout, stderr } = process
await createOutput({ format: 'table', stdout, stderr, isTerminal: true, columns: 200 }).list(
  'benches',
  rows,
  ['bench', 'ours', 'limit', 'unit', 'ratio', 'bar', '', `cores of ${coresOfMachine}`].map((heading, at) => [
    heading,
    (cells) => cells[at],
  ]),
)

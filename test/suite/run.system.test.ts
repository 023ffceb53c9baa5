import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnInTest } from '../support/children.ts'
import { inherited } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'

/** `npm test` leaves nothing behind. Its processes are found in /proc, by folders that their environment and arguments name. */
const hasProc = existsSync('/proc/self/environ')

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Runs tests, and sends the signal to the runner after the first file. */
const runTests = async (filter: string, signal?: NodeJS.Signals) => {
  const folder = await mkdtemp(join(tmpdir(), 'run-'))
  const run = spawnInTest('node', ['test/run.ts', filter, '--maxWorkers=2'], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...inherited(), TMPDIR: folder, NO_COLOR: '1' },
  })
  let output = ''
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = once(run, 'close')

  const pids = new Set<string>()
  /** Whether the text names the temporary folder of the runner, or the one that one of its processes created in memory. */
  const isOwn = (text: string): boolean =>
    text.includes(folder) || [...text.matchAll(/svc-test-(\d+)-/g)].some(([, pid]) => pids.has(pid!))
  const processes = (): string[] =>
    readdirSync('/proc').flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`)
      if (!/^\d+$/.test(pid) || !isOwn(command + read(`/proc/${pid}/environ`))) return []
      pids.add(pid)
      return [command]
    })

  let seen: string[] = []
  if (signal) {
    await eventually(() => output.includes('✓'))
    processes()
    seen = processes()
    run.kill(signal)
  }
  const [status] = await ended
  const files = [folder, '/dev/shm'].flatMap((place) => readdirSync(place).map((name) => join(place, name)))
  return { status, seen, left: [...processes(), ...files.filter(isOwn)], output }
}

test.runIf(hasProc)('a run that ends by itself leaves no process and no file', async () => {
  const { status, left, output } = await runTests('test/deals/pipelines.test.ts')
  expect(output).toContain('Tests  16 passed')
  expect(left).toEqual([])
  expect(status).toBe(output.endsWith('Types and style: passed\n') ? 0 : 1)
})

test.runIf(hasProc)('a run that Ctrl-C ends leaves none, and fails', async () => {
  const { status, seen, left } = await runTests('test/deals', 'SIGINT')
  expect(seen.join('\n')).toMatch(/postgres\0-D[\s\S]*vitest/)
  expect(left).toEqual([])
  expect(status).toBe(1)
})

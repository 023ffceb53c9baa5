import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { spawnInTest } from '../support/children.ts'
import { onServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/* Runs of fixtures that fail, hang or are killed leave no process, database or file. */

const root = join(import.meta.dirname, '../..')

const read = (file: string): string => {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    // The process has ended.
    return ''
  }
}

/** Returns the command lines of processes with this home folder, or that name these files, and the paths of such files. */
const left = (home: string, files: string): string[] => {
  const isOfRun = (pid: string) =>
    read(`/proc/${pid}/environ`).includes(`HOME=${home}`) || read(`/proc/${pid}/cmdline`).includes(files)
  const processes = readdirSync('/proc').filter((name) => Number(name) && isOfRun(name))
  const folders = ['/dev/shm', tmpdir()].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  return [...processes.map((pid) => read(`/proc/${pid}/cmdline`)), ...folders.filter((path) => path.includes(files))]
}

/** Runs a fixture. Its processes have a home folder of their own, and its files are in its folder or named after its pid. */
const startRun = async (name: string, env: Record<string, string> = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-leftovers-'))
  const at = (file: string) => join(folder, file)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const config = 'test/suite/vitest.config.ts'
  const args = ['run', name, '--config', config, '--reporter=json', `--outputFile=${at('report')}`]
  const { PATH, NODE_COMPILE_CACHE, TEST_SLOWNESS } = process.env
  const child = spawnInTest(process.execPath, [vitest, ...args], {
    cwd: root,
    env: { PATH, NODE_COMPILE_CACHE, TEST_SLOWNESS, HOME: folder, LEFTOVERS_FILE: at('pid'), ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const files = `svc-test-${child.pid}-`
  return {
    child,
    exited,
    output: () => output,
    report: async () => JSON.parse(await readFile(at('report'), 'utf8')),
    /** Resolves with the pid of the worker once the test hangs. */
    hanging: () => eventually(async () => Number(await readFile(at('pid'), 'utf8').catch(() => 0))),
    /** Waits until no process has its home folder or names its files, and no such file is left. */
    gone: () => eventually(() => left(folder, files).length === 0).catch(() => expect(left(folder, files)).toEqual([])),
  }
}

const onLinux = test.runIf(process.platform === 'linux')

onLinux('what failed tests and hooks leave ends with them, and what a worker shares ends with the run', async () => {
  const run = await startRun('failing', { DATABASE_URL: inject('serverUrl') })
  expect(await run.exited, run.output()).toBe(1)
  const { testResults } = await run.report()
  const results = testResults[0].assertionResults.map((one: { title: string; status: string }) => [
    one.title,
    one.status,
  ])
  expect(results).toEqual([
    ['fails, and leaves a daemon and a rejection', 'failed'],
    ['its daemon has ended', 'passed'],
    ['exceeds its limit, and leaves a command and a wait', 'failed'],
    ['its command has ended, and its wait goes no further', 'passed'],
    ['leaves a child of a process', 'failed'],
    ['its child has ended', 'passed'],
    ['the shared daemon runs on', 'passed'],
  ])
  expect(run.output()).not.toMatch(/unhandled/i)
  await run.gone()
  const databases = await onServer(`select datname from pg_database where datname like 'svc\\_%\\_${run.child.pid}%'`)
  expect(databases.rows).toEqual([])
})

onLinux.each<[string, Record<string, string>, (run: Awaited<ReturnType<typeof startRun>>) => Promise<void>]>([
  ['Ctrl-C', {}, async ({ child }) => void process.kill(-child.pid!, 'SIGINT')],
  ['kill -9 of its worker', {}, async ({ hanging }) => void process.kill(await hanging(), 'SIGKILL')],
  ['kill -9', { LEFTOVERS_DAEMON: 'yes' }, async ({ child }) => void child.kill('SIGKILL')],
])('%s leaves nothing of a run whose test hangs', async (_, env, end) => {
  const run = await startRun('hanging', env)
  await run.hanging()
  await end(run)
  await run.exited
  await run.gone()
})

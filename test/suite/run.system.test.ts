import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
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

const root = join(import.meta.dirname, '../..')

/**
 * Creates a project of these source files, with the checks and settings of this repository. Checking the whole repository would take
 * 11 s of CPU time. With `watch`, the checks run until they are stopped.
 */
const newProject = async (code: Record<string, string>, { watch = false } = {}): Promise<string> => {
  const project = await mkdtemp(join(tmpdir(), 'project-'))
  const at = (...path: string[]) => join(project, ...path)
  for (const file of ['biome.json', 'tsconfig.json']) await copyFile(join(root, file), at(file))
  const { type, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const more = watch ? ' --watch' : ''
  const checks = { types: scripts.types + more, style: scripts.style + more }
  await writeFile(at('package.json'), `${JSON.stringify({ type, scripts: checks }, null, 2)}\n`)
  // Links only these folders, because the checks write their caches into node_modules.
  await mkdir(at('node_modules'))
  for (const name of ['.bin', '@types']) await symlink(join(root, 'node_modules', name), at('node_modules', name))
  await mkdir(at('src'))
  for (const [name, text] of Object.entries(code)) await writeFile(at('src', name), text)
  return project
}

const sound = { 'sound.ts': 'export const one: number = 1\n' }

/** Runs tests of this repository beside the checks of `project`, and sends the signal to the runner after the first test file. */
const runTests = async (project: string, args: readonly string[], signal?: NodeJS.Signals) => {
  const folder = await mkdtemp(join(tmpdir(), 'run-'))
  // Measured by the run of this test: each measurement takes half a second of CPU time.
  const { TEST_SLOWNESS = '' } = process.env
  const run = spawnInTest('node', [join(root, 'test/run.ts'), ...args], {
    cwd: project,
    env: { ...inherited(), TMPDIR: folder, NO_COLOR: '1', TEST_SLOWNESS },
  })
  // Apart, because the two streams can be read in another order than they were written.
  let [output, errors] = ['', '']
  run.stdout.on('data', (chunk) => (output += chunk))
  run.stderr.on('data', (chunk) => (errors += chunk))
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
  return { status, seen, left: [...processes(), ...files.filter(isOwn)], output, errors }
}

const ofThisRepository = (filter: string) => [filter, '--root', root, '--maxWorkers=2']

test.runIf(hasProc)('a run that ends by itself leaves no process and no file', async () => {
  const project = await newProject(sound)
  const { status, left, output } = await runTests(project, ofThisRepository('test/deals/pipelines.test.ts'))
  expect(output).toContain('Tests  16 passed')
  expect(left).toEqual([])
  expect(output).toMatch(/\nTypes and style: passed\n$/)
  expect(status).toBe(0)
})

test.runIf(hasProc)('a run that Ctrl-C ends leaves none, and fails', async () => {
  const project = await newProject(sound, { watch: true })
  const { status, seen, left, output } = await runTests(project, ofThisRepository('test/deals'), 'SIGINT')
  expect(seen.join('\n')).toMatch(/postgres\0-D[\s\S]*vitest/)
  for (const check of ['tsc', 'biome']) expect(seen.join('\n')).toMatch(new RegExp(`${check}\0.*\0--watch`))
  // Not all files of tests ended.
  expect(output).not.toMatch(/Test Files +(\d+) passed \(\1\)/)
  expect(left).toEqual([])
  expect(status).toBe(1)
})

test.runIf(hasProc).each([
  ['of a type', { 'type.ts': `export const one: number = 'one'\n` }, 'src/type.ts(1,14): error'],
  ['of style', { 'style.ts': 'export const one: number = 1;\n' }, 'src/style.ts format'],
])('a fault %s fails a run without a failed test, and is printed', async (_, code, message) => {
  const { status, output } = await runTests(await newProject({ ...sound, ...code }), ['--passWithNoTests'])
  expect(output).toContain(message)
  expect(output).toMatch(/\nTypes and style: failed\n$/)
  expect(status).toBe(1)
})

test.runIf(hasProc)('a run without faults of types and style fails if the tests do', async () => {
  const { status, output, errors } = await runTests(await newProject(sound), ['no-such-test'])
  expect(errors).toContain('No test files found')
  expect(output).toMatch(/\nTypes and style: passed\n$/)
  expect(status).toBe(1)
})

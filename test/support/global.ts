import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, open, readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject, Vitest } from 'vitest/node'
import { openDatabase } from '../../src/store/database.ts'
import { createTemplate, onServer, openServer } from './server.ts'
import { slowness } from './slowness.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server with the template; each test file clones the template there. */
    serverUrl: string
    template: string
  }
}

const memory = '/dev/shm'
const prefix = 'svc-test-'

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes the folders of test runs that were killed: they would occupy memory until the next boot. */
const removeOrphans = async (): Promise<void> => {
  const orphans = (await readdir(memory)).filter(
    (name) => name.startsWith(prefix) && !isRunning(Number(name.slice(prefix.length).split('-')[0])),
  )
  // Those of other users stay.
  await Promise.all(orphans.map((name) => rm(join(memory, name), { recursive: true, force: true }).catch(() => {})))
}

/**
 * Creates the temporary folder of the test run in memory: there, a test that clones the template and drops the clone takes 50 ms
 * of CPU time instead of 280. Returns undefined if the memory is too small, or if no program may be run from it.
 */
export const createInMemory = async (): Promise<string | undefined> => {
  // The largest tests together fill 2 GB.
  const enough = 8e9
  let folder: string | undefined
  try {
    await removeOrphans()
    const { bavail, bsize } = await statfs(memory)
    if (bavail * bsize < enough || process.availableMemory() < enough) return
    folder = await mkdtemp(join(memory, `${prefix}${process.pid}-`))
    const script = join(folder, 'script')
    await writeFile(script, '#!/bin/sh\n', { mode: 0o755 })
    await promisify(execFile)(script)
    return folder
  } catch {
    if (folder) await rm(folder, { recursive: true, force: true })
  }
}

/** Ends the run in order at a signal. Vitest exits at once by itself, and would leave the server and the folder. */
const endInOrder = (vitest: Vitest): void => {
  let isEnding = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.removeAllListeners(signal)
    process.on(signal, async () => {
      // A terminal signals this process directly, and npm signals it again.
      if (isEnding) return
      isEnding = true
      process.exitCode = 128 + constants.signals[signal]
      await vitest.cancelCurrentRun('keyboard-input')
      await vitest.exit(true)
    })
  }
}

const sweep = `
cat "$1/run" >/dev/null
is_ours() { { cat "/proc/$pid/cmdline" || ps -o command= -p "$pid"; } 2>/dev/null | grep -qF "\${1##*/}"; }
for pid in $(find "$1" -name postmaster.pid -exec head -n 1 {} \\;); do
  is_ours "$1" && kill -QUIT "$pid"
  tries=0
  while is_ours "$1" && [ $((tries += 1)) -le 50 ]; do sleep 0.1; done
done
rm -rf -- "$1"`

/**
 * Starts a process that stops the servers in the temporary folder and removes it, as soon as this process and those that end the
 * processes of tests (children.ts) have closed its pipe: also if they are killed. Returns a function that closes it and waits.
 */
const startSweeper = async (temporary: string): Promise<() => Promise<void>> => {
  const pipe = join(temporary, 'run')
  const env = { PATH: `${process.env.PATH}:/usr/bin:/bin` }
  await promisify(execFile)('mkfifo', ['-m', '600', pipe], { env })
  const held = await open(pipe, 'r+')
  process.env.TEST_RUN = pipe
  const sweeper = spawn('sh', ['-c', sweep, 'sweep', temporary], { env, detached: true, stdio: 'ignore' })
  const swept = once(sweeper, 'exit')
  sweeper.unref()
  return async () => {
    sweeper.ref()
    await held.close()
    await swept
  }
}

/** Drops the databases of this run, and of killed ones: only on a given server they outlive their run. */
const dropDatabases = async (serverUrl: string): Promise<void> => {
  const database = openDatabase(serverUrl, { max: 1 })
  const rows = await database.sql<{ name: string }>(
    `select datname as name from pg_database where datname ~ '^svc_(template|test)_\\d+'`,
  )
  for (const { name } of rows) {
    const pid = Number(name.split('_')[2])
    if (pid === process.pid || !isRunning(pid))
      await onServer(serverUrl, `drop database if exists ${name} with (force)`)
  }
  await database.close()
}

/**
 * Fills the compile cache of a new checkout: all workers begin at once, and each would compile every module itself. Tests report a
 * module that can't be loaded.
 */
const compileModules = async (): Promise<void> => {
  const { NODE_COMPILE_CACHE: folder } = process.env
  if (!folder || existsSync(folder)) return
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'compile.ts')]).catch(() => {})
}

/** Runs once per test run: opens a server (DATABASE_URL, or an embedded one in a temporary folder) with a migrated template. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  process.stdout.write(`Limits are multiplied by ${slowness} (TEST_SLOWNESS).\n`)
  process.env.TEST_SEED = String(project.config.sequence.seed)
  endInOrder(project.vitest)
  await using left = new AsyncDisposableStack()
  const temporary = (await createInMemory()) ?? (await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`)))
  // Tests work in it as other users too.
  await chmod(temporary, 0o755)
  process.env.TMPDIR = temporary
  // The workers end between the teardown and this.
  project.vitest.onClose(await startSweeper(temporary))
  const compiling = compileModules()
  const given = process.env.DATABASE_URL
  const template = `svc_template_${process.pid}`
  const embedded = given ? null : await openServer(join(temporary, 'server'), template)
  left.defer(() => embedded?.close())
  const serverUrl = given ?? embedded!.url
  if (given) {
    await dropDatabases(given)
    left.defer(() => dropDatabases(given))
    await createTemplate(given, template)
  }
  await compiling
  project.provide('serverUrl', serverUrl)
  project.provide('template', template)
  const later = left.move()
  return () => later.disposeAsync()
}

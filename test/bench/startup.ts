import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../src/store/database.ts'
import { freePort } from '../support/daemon.ts'
import { type Bench, below, benchAccount, cpuSeconds, interleaved, type Row, row } from './support.ts'

/** What users start. `bin/svc.ts` takes 60 ms more: the types of an entry point are stripped at each start. */
const program = join(import.meta.dirname, '../../bin/svc.mjs')

const node = (args: string[], env: Record<string, string> = {}): number => {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return performance.now() - start
}

/** Waits until `url` answers 200; returns the milliseconds since `start`. */
const readyAfter = async (url: string, start: number): Promise<number> => {
  for (;;) {
    const ready = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ready) return performance.now() - start
    await sleep(5)
  }
}

const residentMegabytes = (pid: number): number => {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

/** Starts `args` as a process; measures its start time, and the CPU time of its start, its memory and statements while idle. */
const daemon = async (args: string[], env: Record<string, string>, idleUrl?: string) => {
  const port = String(await freePort())
  const start = performance.now()
  const child = spawn(process.execPath, [program, ...args], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, SVC_PORT: port },
  })
  const readyMs = await readyAfter(`http://127.0.0.1:${port}/readyz`, start)
  let statements = Number.NaN
  let megabytes = Number.NaN
  let startMs = Number.NaN
  if (idleUrl) {
    const database = openDatabase(idleUrl, { max: 1 })
    // The same statistics count the transactions of autovacuum, most of them in a new database. A server that the bench did not
    // start keeps its settings.
    if (!process.env.DATABASE_URL) {
      await database.sql('alter system set autovacuum = off')
      await database.sql('select pg_reload_conf()')
    }
    // By then the threads of the jobs work. Newly connected workers look for lost claims for ten seconds.
    await sleep(15_000)
    startMs = 1000 * (await cpuSeconds(child.pid!))
    const committed = async () =>
      (
        await database.sql<{ n: number }>(
          'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
        )
      )[0]!.n
    const before = await committed()
    // Housekeeping runs once a minute.
    await sleep(60_000)
    // Excludes the transaction of this measurement.
    statements = ((await committed()) - before - 1) / 60
    if (!process.env.DATABASE_URL) await database.sql('alter system reset autovacuum')
    megabytes = residentMegabytes(child.pid!)
    await database.close()
  }
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
  return { readyMs, startMs, statements, megabytes }
}

export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app()
  await benchAccount(app)
  const env = b.env(app.databaseUrl)
  const nothing = async () => node(['-e', '0'])
  node([program, '--help'], env)
  node([program, 'contacts', 'list'], env)
  const help = await interleaved(9, async () => node([program, '--help'], env), nothing)
  const list = await interleaved(9, async () => node([program, 'contacts', 'list'], env), nothing)
  // The first one compiles.
  await daemon(['serve'], env)
  const serve = await daemon(['serve'], env, app.databaseUrl)

  const folder = await mkdtemp(join(tmpdir(), 'svc-dev-'))
  const devEnv = { SVC_DATA_DIR: join(folder, 'data') }
  const first = await daemon(['dev'], devEnv)
  const second = await daemon(['dev'], devEnv)
  await rm(folder, { recursive: true, force: true })
  return [
    row('svc --help against node -e 0', 'ms', help, { atMost: 3.5 }),
    row('svc contacts list against node -e 0', 'ms', list, { atMost: 9 }),
    below('svc serve ready on an existing database', 'ms', serve.readyMs, 1000),
    below('svc serve, CPU time of its first 15 s, with all jobs', 'ms', serve.startMs, 1000),
    below('daemon idle memory', 'MB', serve.megabytes, 250),
    below('daemon idle transactions, without autovacuum', '/s', serve.statements, 2),
    below('svc dev ready, first time', 'ms', first.readyMs, 3000),
    below('svc dev ready, later', 'ms', second.readyMs, 1000),
  ]
}

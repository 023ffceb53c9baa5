import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { openDatabase } from '../../src/store/database.ts'
import { program } from '../support/cli.ts'
import { knowDomain, type Person, person, prepareRaw, rawUpsert } from './batch.ts'
import { hasListmonk, openListmonk, writeSubscribers } from './listmonk.ts'
import { type Bench, below, benchAccount, interleaved, type Row, row } from './support.ts'

const batchSize = 500

export const upTo = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i)

/** Writes a file of contacts, in the order of their `numbers`. */
export const writeFile = async (path: string, numbers: Iterable<number>): Promise<void> => {
  const file = createWriteStream(path)
  file.write(`${Object.keys(person(0)).join(',')}\r\n`)
  for (const n of numbers) {
    if (!file.write(`${Object.values(person(n)).join(',')}\r\n`))
      await new Promise((resolve) => file.once('drain', resolve))
  }
  await new Promise<void>((resolve) => file.end(resolve))
}

interface Imported {
  exit: number | null
  /** From the JSON output of the command; empty after a failure. */
  counts: Partial<Record<'created' | 'updated' | 'unchanged' | 'skipped', number>>
  stderr: string
  seconds: number
  /** Peak memory, as reported by the process. */
  megabytes: number
}

/** Runs `svc contacts import`; resolves with any exit status. */
export const importFile = (path: string, list: string, env: Record<string, string>): Promise<Imported> =>
  new Promise((resolve) => {
    const start = performance.now()
    const child = spawn(
      process.execPath,
      [
        '--import',
        `data:text/javascript,${encodeURIComponent(peak)}`,
        program,
        'contacts',
        'import',
        path,
        '--create-list',
        '--list',
        list,
        '--json',
      ],
      {
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    )
    let out = ''
    let err = ''
    let megabytes = 0
    child.stdout!.on('data', (text) => {
      out += text
    })
    child.stderr!.on('data', (text) => {
      err += text
    })
    child.on('message', (value) => {
      megabytes = Number(value)
    })
    child.on('close', (exit) => {
      const seconds = (performance.now() - start) / 1000
      resolve({ exit, counts: exit === 0 ? JSON.parse(out) : {}, stderr: err, seconds, megabytes })
    })
  })

// maxRSS is in kilobytes. Unref'd: the channel must not keep the process alive.
const peak = `process.channel?.unref(); process.on('exit', () => process.send?.(process.resourceUsage().maxRSS / 1024))`

/** Compares `ours` with listmonk's import of as many rows of the same data; returns no row where listmonk is missing. */
const besideListmonk = async (b: Bench, rows: number, folder: string, ours: () => Promise<number>): Promise<Row[]> => {
  if (!hasListmonk()) {
    process.stderr.write('  listmonk is not on the PATH: its import is left out\n')
    return []
  }
  const listmonk = await openListmonk(await b.empty())
  let round = 0
  const theirs = async () => {
    const path = join(folder, `listmonk-${++round}.csv`)
    const people = upTo(rows, round * 10_000_000).map(person)
    await writeSubscribers(path, people)
    const start = performance.now()
    const imported = await listmonk.import(path)
    if (imported !== rows) throw new Error(`listmonk has imported ${imported} of ${rows} rows`)
    return rows / ((performance.now() - start) / 1000)
  }
  try {
    return [row('svc contacts import beside listmonk’s', 'rows/s', await interleaved(3, ours, theirs), { atLeast: 1 })]
  } finally {
    listmonk.close()
  }
}

export const bench = async (b: Bench, rows = 200_000): Promise<Row[]> => {
  const url = await b.database()
  const database = openDatabase(url, { max: 2 })
  await prepareRaw(database)
  await knowDomain(database)
  const env = b.env(url)
  const own = await openApp(readConfig(env))
  await benchAccount(own)
  await own.close()

  const folder = await mkdtemp(join(tmpdir(), 'svc-import-'))
  const peaks: number[] = []
  let round = 0
  const path = () => join(folder, `${round}.csv`)
  const imported = async (outcome: 'created' | 'unchanged') => {
    const { exit, counts, stderr, seconds, megabytes } = await importFile(path(), `list ${round}`, env)
    if (counts[outcome] !== rows) throw new Error(`The import ended with ${exit}: ${JSON.stringify(counts)} ${stderr}`)
    peaks.push(megabytes)
    return rows / seconds
  }
  const ours = async () => {
    round += 1
    await writeFile(path(), upTo(rows, round * 10_000_000))
    return imported('created')
  }
  const raw = async (from: number) => {
    const start = performance.now()
    for (let at = 0; at < rows; at += batchSize) {
      const batch: Person[] = Array.from({ length: batchSize }, (_, i) => person(from + at + i))
      await rawUpsert(database, batch)
    }
    return rows / ((performance.now() - start) / 1000)
  }
  const rawFrom = () => 1_000_000_000 + round * 10_000_000
  const figures = await interleaved(3, ours, () => raw(rawFrom()))
  // The last file again, and the last rows of the limit.
  const last = rawFrom() - 10_000_000
  const again = await interleaved(
    3,
    () => imported('unchanged'),
    () => raw(last),
  )
  const peer = await besideListmonk(b, rows, folder, ours)
  await database.close()
  await rm(folder, { recursive: true, force: true })
  return [
    row(`svc contacts import, ${rows.toLocaleString('en')} rows, against the raw upsert`, 'rows/s', figures, {
      atLeast: 0.85,
    }),
    row('svc contacts import, the same file again', 'rows/s', again, { atLeast: 0.7 }),
    below('svc contacts import, peak memory', 'MB', Math.max(...peaks), 150),
    ...peer,
  ]
}

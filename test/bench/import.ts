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
import { type Bench, below, benchAccount, interleaved, type Row, row } from './support.ts'

const rows = 200_000
const batchSize = 500

const writeFile = async (path: string, count: number, from: number): Promise<void> => {
  const file = createWriteStream(path)
  file.write(`${Object.keys(person(0)).join(',')}\r\n`)
  for (let n = 0; n < count; n++) {
    if (!file.write(`${Object.values(person(from + n)).join(',')}\r\n`))
      await new Promise((resolve) => file.once('drain', resolve))
  }
  await new Promise<void>((resolve) => file.end(resolve))
}

interface Imported {
  rate: number
  megabytes: number
}

/** Runs `svc contacts import` under `/usr/bin/time`-like accounting: the process reports its own peak. */
const importFile = (
  path: string,
  list: string,
  env: Record<string, string>,
  { count, outcome }: { count: number; outcome: 'created' | 'unchanged' },
): Promise<Imported> =>
  new Promise((resolve, reject) => {
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
    child.on('close', (status) => {
      if (status !== 0 || JSON.parse(out)[outcome] !== count)
        return reject(new Error(`The import ended with ${status}: ${out} ${err}`))
      resolve({ rate: count / ((performance.now() - start) / 1000), megabytes })
    })
  })

// maxRSS is in kilobytes. Unref'd: the channel must not keep the process alive.
const peak = `process.channel?.unref(); process.on('exit', () => process.send?.(process.resourceUsage().maxRSS / 1024))`

export const bench = async (b: Bench): Promise<Row[]> => {
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
    const { rate, megabytes } = await importFile(path(), `list ${round}`, env, { count: rows, outcome })
    peaks.push(megabytes)
    return rate
  }
  const ours = async () => {
    round += 1
    await writeFile(path(), rows, round * 10_000_000)
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
  await database.close()
  await rm(folder, { recursive: true, force: true })
  return [
    row(`svc contacts import, ${rows.toLocaleString('en')} rows, against the raw upsert`, 'rows/s', figures, {
      atLeast: 0.85,
    }),
    row('svc contacts import, the same file again', 'rows/s', again, { atLeast: 0.7 }),
    below('svc contacts import, peak memory', 'MB', Math.max(...peaks), 150),
  ]
}

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { createList, listContacts } from '../../src/contacts/contacts.ts'
import { buildServer } from '../../src/http/server.ts'
import { csvLine } from '../../src/lib/csv.ts'
import { encodeCursor } from '../../src/lib/cursor.ts'
import { program } from '../support/cli.ts'
import { knowDomain, person } from './batch.ts'
import { fill } from './lookup.ts'
import { type Bench, benchAccount, interleaved, percentile, type Row, row, timed } from './support.ts'

const small = 10_000
const samples = 300
const imported = 100_000
const rounds = 3
/** The number of contacts that one statement creates. */
const step = 1_000_000

const run = promisify(execFile)

/** Imports files of new contacts into the list; returns the seconds of one import. */
const importer = (env: Record<string, string>, folder: string) => {
  let from = 0
  return async (): Promise<number> => {
    const path = join(folder, `${env.DATABASE_URL!.split('/').at(-1)}-${from}.csv`)
    const rows = Array.from({ length: imported }, (_, i) => Object.values(person(from + i)))
    from += imported
    await writeFile(path, [Object.keys(person(0)), ...rows].map(csvLine).join(''))
    const args = [
      '--disable-warning=ExperimentalWarning',
      program,
      'contacts',
      'import',
      path,
      '--list',
      'bench',
      '--json',
    ]
    const all = { PATH: process.env.PATH, HOME: process.env.HOME, ...env }
    const ms = await timed(async () => {
      const { stdout } = await run(process.execPath, args, { env: all })
      if (JSON.parse(stdout).created !== imported) throw new Error(`The import ended with ${stdout}`)
    })
    await rm(path)
    return ms / 1000
  }
}

/** Creates a database with `size` contacts in one list; returns its measurements: p50 in ms, seconds of an import. */
const openSite = async (b: Bench, size: number, folder: string) => {
  const app = await b.app()
  const account = await benchAccount(app)
  const list = await app.work(account.id, 'cli:bench', (work) =>
    createList(work, { name: 'bench', fields: ['first_name', 'last_name', 'city', 'plan'] }),
  )
  await knowDomain(app.database)
  for (let from = 0; from < size; from += step)
    await fill(app.database, account.id, list.id, from, Math.min(from + step, size))
  const { fastify: server } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  const inject = async (method: 'GET' | 'POST', url: string, payload?: object) => {
    const reply = await server.inject({
      method,
      url: `/api/v1${url}`,
      headers: { authorization: `Bearer ${account.key}` },
      ...(payload && { payload }),
    })
    if (reply.statusCode > 201) throw new Error(`${url} answered ${reply.statusCode} ${reply.body}`)
  }
  const importMore = importer(b.env(app.databaseUrl), folder)
  const anyone = () => Math.floor(Math.random() * size)
  const someone = () => `user${anyone()}@example.org`
  const cursor = () => encodeCursor([`row_${String(anyone()).padStart(26, '0')}`])
  const p50 = (work: () => Promise<unknown>) => async () => {
    const times: number[] = []
    for (let i = 0; i < samples + 50; i++) times.push(await timed(work))
    return percentile(times.slice(50), 50)
  }
  const works = {
    'lookup p50, ms': p50(() => inject('GET', `/contacts?email=${someone()}`)),
    'upsert p50, ms': p50(() =>
      inject('POST', '/contacts', { listId: list.id, email: someone(), fields: { city: `City ${Math.random()}` } }),
    ),
    'page p50, ms': p50(() =>
      app.work(account.id, 'cli:bench', (work) => listContacts(work, { list: list.id, cursor: cursor(), limit: 50 })),
    ),
    [`import of ${imported.toLocaleString('en')} more, s`]: importMore,
  }
  return { works, checkpoint: () => app.sql('checkpoint'), close: () => server.close() }
}

/**
 * The cost of a lookup, an upsert, a page somewhere in the list and an import of 100,000 more: with `large` contacts in one
 * list and with 10,000 in another database, in turns. `npm run bench growth=10000000` sets `large`.
 */
export const bench = async (b: Bench, large = 1_000_000): Promise<Row[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-growth-'))
  const few = await openSite(b, small, folder)
  const many = await openSite(b, large, folder)
  try {
    const rows: Row[] = []
    for (const [name, work] of Object.entries(many.works)) {
      await many.checkpoint()
      const figures = await interleaved(rounds, work, few.works[name]!)
      const [what, unit] = name.split(', ') as [string, string]
      const title = `${what} at ${large.toLocaleString('en')} contacts against ${small.toLocaleString('en')}`
      rows.push(row(title, unit, figures, { atMost: 1.3 }))
    }
    return rows
  } finally {
    await few.close()
    await many.close()
    await rm(folder, { recursive: true, force: true })
  }
}

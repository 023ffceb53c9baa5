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
import { type Bench, benchAccount, median, percentile, type Row, row, timed } from './support.ts'

const small = 10_000
const samples = 300
const imported = 100_000
const imports = 3
/** Contacts that one statement makes. */
const step = 1_000_000

const run = promisify(execFile)

/** Imports files of new contacts into the list; gives seconds for one. */
const importer = (env: Record<string, string>, folder: string) => {
  let from = 0
  return async (): Promise<number> => {
    const path = join(folder, `${from}.csv`)
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

/**
 * The cost of a lookup, an upsert, a page somewhere in the list, and an import of 100,000 more, at 10,000 contacts in one list
 * and then at so many: `npm run bench growth=10000000`.
 */
export const bench = async (b: Bench, large = 1_000_000): Promise<Row[]> => {
  const app = await b.app()
  const account = await benchAccount(app)
  const list = await app.work(account.id, 'cli:bench', (work) =>
    createList(work, { name: 'bench', fields: ['first_name', 'last_name', 'city', 'plan'] }),
  )
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
  await knowDomain(app.database)
  const folder = await mkdtemp(join(tmpdir(), 'svc-growth-'))
  const importMore = importer(b.env(app.databaseUrl), folder)
  const measure = async (size: number) => {
    const anyone = () => Math.floor(Math.random() * size)
    const someone = () => `user${anyone()}@example.org`
    const cursor = () => encodeCursor([`row_${String(anyone()).padStart(26, '0')}`])
    const works = {
      lookup: () => inject('GET', `/contacts?email=${someone()}`),
      upsert: () =>
        inject('POST', '/contacts', { listId: list.id, email: someone(), fields: { city: `City ${Math.random()}` } }),
      page: () =>
        app.work(account.id, 'cli:bench', (work) => listContacts(work, { list: list.id, cursor: cursor(), limit: 50 })),
    }
    const figures: Record<string, number> = {}
    for (const [name, work] of Object.entries(works)) {
      const times: number[] = []
      for (let i = 0; i < samples + 50; i++) times.push(await timed(work))
      figures[`${name} p50, ms`] = percentile(times.slice(50), 50)
    }
    const seconds: number[] = []
    for (let i = 0; i < imports; i++) seconds.push(await importMore())
    figures[`import of ${imported.toLocaleString('en')} more, s`] = median(seconds)
    return figures
  }
  try {
    await fill(app.database, account.id, list.id, 0, small)
    const before = await measure(small)
    for (let from = small; from < large; from += step)
      await fill(app.database, account.id, list.id, from, Math.min(from + step, large))
    await app.sql('checkpoint')
    const after = await measure(large)
    return Object.entries(before).map(([name, limit]) => {
      const [what, unit] = name.split(', ') as [string, string]
      const title = `${what} at ${large.toLocaleString('en')} contacts against ${small.toLocaleString('en')}`
      return row(title, unit, { ours: after[name]!, limit }, { atMost: 1.3 })
    })
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
}

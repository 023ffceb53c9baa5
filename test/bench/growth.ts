import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { createList, listContacts } from '../../src/contacts/contacts.ts'
import { buildServer } from '../../src/http/server.ts'
import { fill } from './lookup.ts'
import { type Bench, benchAccount, percentile, type Row, row, timed } from './support.ts'

const small = 10_000
const large = 1_000_000
const samples = 300

/** The cost of a lookup, an upsert and a page, at 10,000 and then at 1,000,000 contacts in one list. */
export const bench = async (b: Bench): Promise<Row[]> => {
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
  await app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('example.org', 'mx', now() + interval '1 day')`,
  )
  const measure = async (size: number) => {
    const someone = () => `user${Math.floor(Math.random() * size)}@example.org`
    const works = {
      lookup: () => inject('GET', `/contacts?email=${someone()}`),
      upsert: () =>
        inject('POST', '/contacts', { listId: list.id, email: someone(), fields: { city: `City ${Math.random()}` } }),
      list: () => app.work(account.id, 'cli:bench', (work) => listContacts(work, { list: list.id, limit: 50 })),
    }
    const p50 = {} as Record<keyof typeof works, number>
    for (const [name, work] of Object.entries(works)) {
      const times: number[] = []
      for (let i = 0; i < samples + 50; i++) times.push(await timed(work))
      p50[name as keyof typeof works] = percentile(times.slice(50), 50)
    }
    return p50
  }
  await fill(app.database, account.id, list.id, 0, small)
  const before = await measure(small)
  for (let from = small; from < large; from += 110_000)
    await fill(app.database, account.id, list.id, from, Math.min(from + 110_000, large))
  const after = await measure(large)
  await server.close()
  return (['lookup', 'upsert', 'list'] as const).map((name) =>
    row(
      `${name} p50 at 1,000,000 contacts against 10,000`,
      'ms',
      { ours: after[name], limit: before[name] },
      { atMost: 1.3 },
    ),
  )
}

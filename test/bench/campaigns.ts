import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import { createBroadcast, NewBroadcast, sendBroadcast, showBroadcastInDetail } from '../../src/broadcasts/broadcasts.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import { buildServer } from '../../src/http/server.ts'
import { encodeCursor } from '../../src/lib/cursor.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { plainProject } from '../support/projects.ts'
import { knowDomain } from './batch.ts'
import { type Bench, below, benchAccount, median, percentile, type Row, row, timed } from './support.ts'

const queued = 40
const pages = 60
const batch = 500
const megabytes = () => process.memoryUsage().rss / 2 ** 20

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')
/** The memory that is in use. What the process has taken also grows by what the writer beside it leaves to the collector. */
const heldMegabytes = () => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

/**
 * A broadcast with variants to two lists with `size` addresses, of which a fifth is in both: its recipients are decided, without
 * the members of a third list, and the first 20,000 are queued, beside a writer of the same lists. Then its results, and pages of 100
 * of the API with as many contacts, emails and suppressions.
 */
export const bench = async (b: Bench, size = 1_000_000): Promise<Row[]> => {
  const app = await b.app({ SVC_SMTP_URL: 'smtp://127.0.0.1:1' }, { queue: false })
  const account = await benchAccount(app)
  const work = <T>(run: Parameters<typeof app.work<T>>[2]) => app.work(account.id, 'cli:bench', run)
  await knowDomain(app.database)
  const note = (text: string) => process.stderr.write(`  ${new Date().toISOString()} ${text}\n`)
  const [first, second, customers, projectId] = await work(async (w) => {
    await addSender(w, { email: 'hello@shop.example', name: 'Shop' })
    const [project] = await applyProjects(w, [plainProject('Spring')])
    const list = async (name: string) => (await createList(w, { name, fields: ['name', 'plan'] })).id
    return [await list('First'), await list('Second'), await list('Customers'), project!.id!] as const
  })
  const email = (n: string) => `'c' || ${n} || '@example.org'`
  const rowId = (n: string) => `'row_' || lpad(${n}::text, 26, '0')`
  await app.sql(
    `insert into addresses (account_id, email, row_id, domain) select $1, ${email('n')}, ${rowId('n')}, 'example.org' from generate_series(1, $2::int) n`,
    [account.id, size],
  )
  const put = (listId: string, from: number, to: number, every = 1) =>
    app.sql(
      `insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
       select $1, ${rowId('n')}, $2, ${email('n')}, jsonb_build_object('name', 'N' || n, 'plan', case n % 3 when 0 then 'pro' else 'free' end),
         'active', svc_now(), svc_now() from generate_series($3::int, $4::int, $5::int) n`,
      [account.id, listId, from, to, every],
    )
  await put(first, 1, size * 0.6)
  await put(second, size * 0.4 + 1, size)
  await put(customers, 10, size, 10)
  await app.sql('vacuum analyze')
  note('contacts')

  const rows: Row[] = []
  const input = { list: [first, second], project: 'Spring', subject: ['One', 'Two for {{ name }}'] }
  const contest = { share: 20, winner: 'opened', after: '4h' }
  const send = (more: object) =>
    work(
      async (w) =>
        (await sendBroadcast(app, w, (await createBroadcast(w, NewBroadcast.parse({ ...input, ...more }))).id)).id,
    )
  const write = () => {
    const n = Math.ceil(Math.random() * size)
    const contacts = [{ email: `c${n}@example.org`, fields: { plan: `p${Math.random()}` } }]
    return timed(() =>
      upsertBatch(app, account.id, 'cli:bench', { listId: n <= size * 0.6 ? first : second, contacts }),
    )
  }
  /** Runs an operation beside a writer; adds what each of its writes took to `writes`. */
  const beside = async (writes: number[], run: () => Promise<unknown>): Promise<number> => {
    let isOver = false
    const ms = timed(run).finally(() => {
      isOver = true
    })
    while (!isOver) writes.push(await write())
    return ms
  }
  const many = Array.from({ length: batch }, (_, n) => ({ email: `c${n + 1}@example.org`, fields: { plan: 'x' } }))
  const ofBatch = await timed(() => upsertBatch(app, account.id, 'cli:bench', { listId: first, contacts: many }))
  const before = megabytes()
  const heldBefore = heldMegabytes()
  const deciding: number[] = []
  const ids: string[] = []
  for (const [name, more] of [
    ['of two lists', {}],
    ['of two lists without customers, in a share and a rest', { excludeList: [customers], ...contest }],
    ['of everybody', { list: undefined, all: true }],
  ] as const) {
    const id = await send(more)
    ids.push(id)
    const ms = await beside(deciding, () => work((w) => advanceBroadcast(app, w, id)))
    rows.push(below(`${size.toLocaleString('en')} recipients are decided: ${name}`, 's', ms / 1000, 30))
    note(name)
  }
  rows.push(below('memory after deciding', 'MB more', megabytes() - before, 50))
  rows.push(below('of it in use', 'MB more', heldMegabytes() - heldBefore, 10))
  const quiet: number[] = []
  for (const _ of deciding) quiet.push(await write())
  rows.push(
    row(
      'a write beside the decisions, p99, against alone',
      'ms',
      { ours: percentile(deciding, 99), limit: percentile(quiet, 99) },
      { atMost: 2 },
    ),
  )
  rows.push(
    row(
      'the same, the longest of as many',
      'ms',
      { ours: Math.max(...deciding), limit: Math.max(...quiet, ofBatch) },
      { atMost: 1.5 },
    ),
  )
  const queueing: number[] = []
  const steps: number[] = []
  for (let i = 0; i < queued; i++)
    steps.push(await beside(queueing, () => work((w) => advanceBroadcast(app, w, ids[0]!))))
  rows.push(below('500 messages are queued beside a writer, median', 'ms', median(steps), 200))
  rows.push(
    below(
      'a write beside it, longest, against a batch of 500',
      'ms',
      Math.max(...queueing),
      Math.max(ofBatch, ...steps),
    ),
  )
  rows.push(below('memory after queueing', 'MB more', megabytes() - before, 50))
  rows.push(below('of it in use', 'MB more', heldMegabytes() - heldBefore, 10))
  note('queued')

  const id = ids[1]!
  await app.sql(
    `insert into messages (account_id, id, key, source_kind, type, email, subject, project_id, project_version, merge_data, status, created_at, finished_at)
     select $1, 'msg_' || lpad(n::text, 26, '0'), 'broadcast:' || $3 || ':' || ${rowId('n')}, 'send', 'marketing', ${email('n')}, 'One', $4, 1, '{}', 'sent', svc_now(), svc_now()
     from generate_series(1, $2::int) n on conflict do nothing`,
    [account.id, size, id, projectId],
  )
  await app.sql(
    `insert into message_people (account_id, email, scope, link, opened, news) select $1, ${email('n')}, $3, '', current_date, 0 from generate_series(1, $2::int, 3) n`,
    [account.id, size, id],
  )
  await app.sql(
    `insert into suppressions (account_id, email, reason, created_at) select $1, ${email('n')}, 'unsubscribed', svc_now() from generate_series(1, $2::int) n`,
    [account.id, size],
  )
  await app.sql('vacuum analyze')
  note('messages and suppressions')
  const show = async (state: string, limitMs: number) => {
    const shown: number[] = []
    for (let i = 0; i < 5; i++) shown.push(await timed(() => work((w) => showBroadcastInDetail(w, id))))
    rows.push(below(`broadcasts show with variants, ${state}, median`, 'ms', median(shown), limitMs))
    note(`${state}: ${shown.map(Math.round).join(', ')}`)
  }
  await show('while it is sent', 3000)
  await app.sql(`update broadcasts set variant_sent = '[1, 1]' where id = $1`, [id])
  await show('ended', 1000)

  const { fastify: server } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  const get = async (url: string) => {
    const reply = await server.inject({
      method: 'GET',
      url: `/api/v1${url}`,
      headers: { authorization: `Bearer ${account.key}` },
    })
    if (reply.statusCode !== 200) throw new Error(`${url} answered ${reply.statusCode} ${reply.body}`)
    return reply.json()
  }
  const anyone = () => Math.ceil(Math.random() * size * 0.5)
  const padded = () => String(anyone()).padStart(26, '0')
  const at = (cursor: string) => encodeURIComponent(encodeCursor([cursor]))
  const filter = (where: string) => `&where=${encodeURIComponent(where)}`
  const of = (where = '') => `/lists/${first}/contacts?limit=100&cursor=${at(`row_${padded()}`)}${where}`
  const read: readonly (readonly [name: string, url: () => string])[] = [
    ['GET /lists/{id}/contacts', () => of()],
    ['the same with a field', () => of(filter('plan = pro'))],
    ['the same with engagement', () => of(filter('plan = pro and not opened < 30d and suppression = unsubscribed'))],
    ['the same with a filter that one contact meets', () => of(filter(`name = N${anyone()}`))],
    ['the same with an address', () => of(filter(`email = c${anyone()}@example.org`))],
    ['the same with engagement that none has', () => of(filter('clicked < 1d or answered < 1d'))],
    ['GET /sends', () => `/sends?limit=100&cursor=${at(`msg_${padded()}`)}`],
    ['GET /sends of a status that none has', () => '/sends?limit=100&status=failed'],
    [
      'GET /suppressions',
      () =>
        `/suppressions?limit=100&cursor=${encodeURIComponent(encodeCursor([`c${anyone()}@example.org`, 'unsubscribed', '']))}`,
    ],
    ['GET /suppressions of a reason that none has', () => '/suppressions?limit=100&reason=bounced'],
  ]
  try {
    for (const [name, url] of read) {
      const times: number[] = []
      for (let i = 0; i < pages; i++) times.push(await timed(() => get(url())))
      rows.push(below(`${name}, a page of 100, p50`, 'ms', percentile(times, 50), 100))
      note(`${name} ${percentile(times, 50)} ${Math.max(...times)}`)
    }
  } finally {
    await server.close()
  }
  return rows
}

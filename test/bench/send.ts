import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { openHolders } from './callers.ts'
import { html, openSink, paragraphs, text, viaPool } from './mail-pool.ts'
import type { Called, Calls } from './send-callers.ts'
import { type Bench, benchAccount, interleaved, median, type Row, row } from './support.ts'

const callers = 32

const freeform = { to: 'p{n}@people.example', subject: 'Mail {n}', html, text }

const openCallers = (port: number) => {
  const process = fork(join(import.meta.dirname, 'send-callers.ts'))
  const called = async (keys: readonly string[], body: object, count: number, callers: number): Promise<Called> => {
    const asked: Calls = { port, keys, body: JSON.stringify(body), count, callers }
    process.send(asked)
    const ended = once(process, 'exit').then(() => Promise.reject(new Error('The callers have failed')))
    const [answer] = (await Promise.race([once(process, 'message'), ended])) as [Called]
    return answer
  }
  return {
    called,
    /** Returns calls per second. */
    rate: (keys: readonly string[], body: object, count: number, callers: number) => async () =>
      count / ((await called(keys, body, count, callers)).ms / 1000),
    close: () => process.disconnect(),
  }
}

/** POST /send beside nodemailer's pool: same email of 14 KB, same sink, 5 connections. The callers are in another process. */
export const bench = async (b: Bench, calls = 3_000): Promise<Row[]> => {
  const recorded = Math.round((1_000_000 / 3_000) * calls)
  const { url, close } = await openSink()
  const app = await b.app({ SVC_SMTP_URL: url }, { queue: false })
  const account = await benchAccount(app)
  const projectId = await app.work(account.id, 'cli:bench', async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'Shop' })
    const half = { type: 'text', props: { text: `Hello {{ name }}, ${paragraphs.slice(0, 7000)}` } }
    const blocks = ['first', 'second'].map((id) => ({ id, ...half }))
    return (await applyProjects(work, [{ name: 'Newsletter', theme: {}, blocks }]))[0]!.id
  })
  const { fastify } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  const holders = await openHolders(app, 1)
  for (const accountId of new Set(holders.map((holder) => holder.accountId)))
    await app.work(accountId, 'cli:bench', (work) => addSender(work, { email: 'hello@shop.example', name: 'Shop' }))
  const api = openCallers((fastify.server.address() as { port: number }).port)
  const one = [account.key]
  const called = await interleaved(3, api.rate(one, freeform, calls, callers), viaPool(url, calls))
  const many = holders.map(({ key }) => key)
  const mixed = await interleaved(3, api.rate(many, freeform, calls, callers), viaPool(url, calls))

  const template = { to: 'p{n}@people.example', projectId, mergeData: { name: 'P{n}' } }
  // The same email, rendered from the project.
  const same = await app.projects!.renderProject(app, {
    ...{ accountId: account.id, messageId: 'msg_bench', id: projectId!, version: 1 },
    ...{ mergeData: { name: 'P1' }, links: { unsubscribe: null }, nowMs: 0 },
  })
  const filled = await interleaved(
    3,
    api.rate(one, template, calls, callers),
    api.rate(one, { ...freeform, ...same }, calls, callers),
  )

  const alone = async () => median((await api.called(one, freeform, 300, 1)).waits)
  const few = await alone()
  await app.sql(
    `insert into messages (account_id, id, source_kind, type, email, from_email, from_name, subject, project_id,
       project_version, merge_data, status, created_at, finished_at)
     select $1, 'msg_' || lpad(n::text, 26, '0'), 'send', 'marketing', 'p' || n || '@people.example', 'hello@shop.example',
       'Shop', 'Mail ' || n, $2, 1, jsonb_build_object('name', 'P' || n), 'sent', svc_now(), svc_now()
     from generate_series(1, $3::int) n`,
    [account.id, projectId, recorded],
  )
  const grown = { limit: few, ours: await alone() }

  api.close()
  await fastify.close()
  close()
  return [
    row('POST /send beside nodemailer’s pool, one key', 'mails/s', called, { atLeast: 0.8 }),
    row('the same, 32 keys of 4 accounts', 'mails/s', mixed, { atLeast: 0.8 }),
    row('POST /send of a project beside freeform', 'mails/s', filled, { atLeast: 0.8 }),
    row(`POST /send after ${recorded.toLocaleString('en')} messages beside before, p50`, 'ms', grown, { atMost: 1.3 }),
  ]
}

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { pino } from 'pino'
import { Pool } from 'undici'
import { loadRoutes } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'
import { runMail } from '../../src/messages/mail.loop.ts'
import { addSender, queueMails } from '../../src/messages/messages.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { type Bench, benchAccount, interleaved, type Row, row } from './support.ts'

const calls = 3_000
const callers = 32
const waiting = 20_000
const recorded = 1_000_000
const batch = 1_000

const paragraphs = 'A paragraph of a newsletter, as they are. '.repeat(330)
const html = `<p>${paragraphs}</p>`
const text = 'A paragraph of a newsletter.'

const perSecond = async (count: number, run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return count / ((performance.now() - start) / 1000)
}

/** nodemailer alone: as many mails by its pool of 5 connections. */
const viaPool = (url: string, count: number) => async () => {
  const transport = createTransport({ url, pool: true } as never)
  const rate = await perSecond(count, () =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        transport.sendMail({
          from: 'hello@shop.example',
          to: `p${i}@people.example`,
          subject: `Mail ${i}`,
          html,
          text,
        }),
      ),
    ),
  )
  transport.close()
  return rate
}

type Body = (n: number) => object

const freeform: Body = (n) => ({ to: `p${n}@people.example`, subject: `Mail ${n}`, html, text })

const viaApi = (port: number, key: string, body: Body, count: number, callers: number) => async () => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: callers })
  let next = 0
  const caller = async () => {
    for (let n = next++; n < count; n = next++) {
      const answer = await pool.request({
        method: 'POST',
        path: '/api/v1/send',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body(n)),
      })
      const { status } = (await answer.body.json()) as { status: string }
      if (status !== 'sent') throw new Error(`POST /send answered ${status}`)
    }
  }
  const rate = await perSecond(count, () => Promise.all(Array.from({ length: callers }, caller)))
  await pool.close()
  return rate
}

/** POST /send, and the job on mail that waits, beside nodemailer's pool: same mail of 14 KB, same sink, 5 connections. */
export const bench = async (b: Bench): Promise<Row[]> => {
  const sink = fork(join(import.meta.dirname, 'mail-sink.ts'))
  const [port] = (await once(sink, 'message')) as [number]
  const url = `smtp://127.0.0.1:${port}`
  const app = await b.app({ SVC_SMTP_URL: url })
  const account = await benchAccount(app)
  const projectId = await app.work(account.id, 'cli:bench', async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'Shop' })
    const half = { type: 'text', props: { text: `Hello {{ name }}, ${paragraphs.slice(0, 7000)}` } }
    const blocks = ['first', 'second'].map((id) => ({ id, ...half }))
    return (await applyProjects(work, [{ name: 'Newsletter', theme: {}, blocks }]))[0]!.id
  })
  const { fastify } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  const api = (fastify.server.address() as { port: number }).port
  const called = await interleaved(3, viaApi(api, account.key, freeform, calls, callers), viaPool(url, calls))

  const template: Body = (n) => ({ to: `p${n}@people.example`, projectId, mergeData: { name: `P${n}` } })
  // The same mail, as it comes out of the project.
  const same = await app.projects!.renderProject(app, {
    ...{ accountId: account.id, messageId: 'msg_bench', id: projectId!, version: 1 },
    ...{ mergeData: { name: 'P1' }, links: { unsubscribe: null } },
  })
  const filled = await interleaved(
    3,
    viaApi(api, account.key, template, calls, callers),
    viaApi(api, account.key, (n) => ({ ...freeform(n), ...same }), calls, callers),
  )

  const alone = async () => 1000 / (await viaApi(api, account.key, freeform, 300, 1)())
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

  const fill = async () => {
    for (let n = 0; n < waiting; n += batch) {
      const mails = Array.from({ length: batch }, (_, i) => ({
        to: `p${n + i}@people.example`,
        type: 'marketing' as const,
        key: null,
        source: { kind: 'send' as const, id: null },
        subject: `Mail ${n + i}`,
        content: { html, text },
      }))
      await app.work(account.id, 'cli:bench', (work) => queueMails(app, work, mails))
    }
  }
  const drain = async () => {
    await fill()
    const stop = new AbortController()
    let running: Promise<void> | undefined
    const rate = await perSecond(waiting, async () => {
      running = runMail(app, stop.signal)
      const isDone = async () => (await app.sql('select 1 from message_queue limit 1')).length === 0
      while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50))
    })
    stop.abort()
    await running
    return rate
  }
  // The machine's own ups and downs fall on both: the pool is measured before and after.
  const pool = viaPool(url, waiting / 4)
  const before = await pool()
  const ours = await drain()
  const drained = { ours, limit: (before + (await pool())) / 2 }
  await fastify.close()
  sink.disconnect()
  return [
    row('POST /send beside nodemailer’s pool', 'mails/s', called, { atLeast: 0.6 }),
    row('POST /send of a project beside freeform', 'mails/s', filled, { atLeast: 0.8 }),
    row('POST /send after 1,000,000 messages beside before', 'ms', grown, { atMost: 1.3 }),
    row('20,000 waiting mails beside nodemailer’s pool', 'mails/s', drained, { atLeast: 0.8 }),
  ]
}

import { pino } from 'pino'
import { Pool } from 'undici'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { linksOf, viewUrl } from '../../src/engagement/engagement.sent.ts'
import { buildServer } from '../../src/http/server.ts'
import { queueMails } from '../../src/messages/messages.ts'
import { addSender } from '../../src/senders/senders.change.ts'
import { applyProjects, loadTemplate, sampleProject } from '../../src/studio/studio.ts'
import { type Bench, below, benchAccount, median, type Row, row, timed } from './support.ts'

const mails = 1_000
const views = 6_000
const connections = 32

/** The live view as JSON under load, and a click at a low rate (docs/reference/studio.md#live-view). */
export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app({ SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'http://svc.example' })
  const account = await benchAccount(app)
  const ids = await app.work(account.id, 'cli:bench', async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
    const [project] = await applyProjects(work, [sampleProject('http://svc.example/picture.png')])
    const queued = await queueMails(
      app,
      work,
      Array.from({ length: mails }, (_, i) => ({
        to: `person${i}@people.example`,
        type: 'transactional' as const,
        key: null,
        source: { kind: 'send' as const, id: null },
        content: { projectId: project!.id!, mergeData: { name: `Person ${i}`, email: `person${i}@people.example` } },
      })),
    )
    return { project: project!, messages: queued.flatMap((one) => ('id' in one ? one.id : [])) }
  })
  await loadTemplate(app, { accountId: account.id, id: ids.project.id!, version: ids.project.version })
  const { fastify } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }), await loadPages())
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  const { port } = fastify.server.address() as { port: number }
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections })
  const ask = async (path: string, expected: number) => {
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers: { 'user-agent': 'Firefox' } })
    await body.dump()
    if (statusCode !== expected) throw new Error(`${path} answered ${statusCode}`)
  }

  const paths = ids.messages.map((id) =>
    viewUrl(app, account.id, id).replace('http://svc.example/v/', '/api/v1/liveview/'),
  )
  let left = views
  const load = await timed(() =>
    Promise.all(
      Array.from({ length: connections }, async () => {
        while (left-- > 0) await ask(paths[left % paths.length]!, 200)
      }),
    ),
  )
  const clicks: number[] = []
  for (const id of ids.messages.slice(0, 500)) {
    const path = linksOf(app, account.id, id, { unsubscribe: null })
      .click('https://example.com/harbour', 'https://example.com/harbour')
      .replace('http://svc.example', '')
    clicks.push(await timed(() => ask(path, 302)))
  }
  await pool.close()
  await fastify.close()
  return [
    row('live view as JSON', '/s', { ours: views / (load / 1000), limit: 1_500 }, { atLeast: 1 }),
    below('a click, p50', 'ms', median(clicks), 5),
  ]
}

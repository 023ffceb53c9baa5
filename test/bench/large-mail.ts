import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { addSender } from '../../src/senders/senders.ts'
import type { Vitals } from './hostile.process.ts'
import { html, openSink, text } from './mail-pool.ts'
import type { Called, Calls } from './send-callers.ts'
import { type Bench, below, benchAccount, percentile, type Row, row } from './support.ts'

const rounds = 3
const seconds = 10
const attachedBytes = 10 * 1024 * 1024
const smallCallers = 4
const smallEveryMs = 50
const crowdCallers = 10
const crowdCalls = 30

const start = async (file: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) =>
  fork(join(import.meta.dirname, file), args, { env: { ...process.env, ...env } })

const answerOf = async <T>(child: Awaited<ReturnType<typeof start>>): Promise<T> =>
  (
    (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('A process of the bench has failed'))),
    ])) as [T]
  )[0]

/**
 * What a caller with attachments of 10 MB does to callers of small emails: POST /send of 14 KB without it and beside it, in turns. Server,
 * relay and both kinds of callers are processes of their own. One large email a second leaves CPU time for all of them.
 */
export const bench = async (b: Bench): Promise<Row[]> => {
  const sink = await openSink()
  const app = await b.app({ SVC_SMTP_URL: sink.url })
  const [small, large] = [await benchAccount(app, 'small'), await benchAccount(app, 'large')]
  for (const { id } of [small, large])
    await app.work(id, 'cli:bench', (work) => addSender(work, { email: 'hello@shop.example', name: 'Shop' }))
  const server = await start(
    'hostile.process.ts',
    ['serve'],
    b.env(app.config.databaseUrl!, { SVC_SMTP_URL: sink.url }),
  )
  const port = await answerOf<number>(server)
  const callers = { small: await start('send-callers.ts'), large: await start('send-callers.ts') }
  const call = (which: 'small' | 'large', calls: Omit<Calls, 'port'>) => {
    callers[which].send({ port, ...calls } satisfies Calls)
    return answerOf<Called>(callers[which])
  }
  const vitals = () => {
    server.send('take')
    return answerOf<Vitals>(server)
  }
  const freeform = { to: 'p{n}@people.example', subject: 'Mail {n}', html, text }
  const content = randomBytes(attachedBytes).toString('base64')
  const attachments = [{ filename: 'report.pdf', contentType: 'application/pdf', content }]
  const smallCalls = {
    ...{ keys: [small.key], body: JSON.stringify(freeform), callers: smallCallers, everyMs: smallEveryMs },
    count: (seconds * 1000 * smallCallers) / smallEveryMs,
  }
  const largeCalls = (count: number, callers: number) => ({
    ...{
      keys: [large.key],
      body: JSON.stringify({ ...freeform, attachments }),
      callers,
      everyMs: 1000,
      count,
      mayWait: true,
    },
  })
  const alone: number[] = []
  const beside: number[] = []
  const turns = { alone: 0, beside: 0 }
  // Code is compiled, and connections are open.
  await Promise.all([call('small', { ...smallCalls, count: 200 }), call('large', largeCalls(3, 1))])
  await vitals()
  for (let round = 0; round < rounds; round++) {
    alone.push(...(await call('small', smallCalls)).waits)
    turns.alone = Math.max(turns.alone, (await vitals()).stallMs)
    const [ours] = await Promise.all([call('small', smallCalls), call('large', largeCalls(seconds, 1))])
    beside.push(...ours.waits)
    turns.beside = Math.max(turns.beside, (await vitals()).stallMs)
  }
  const { ms } = await call('large', largeCalls(crowdCalls, crowdCallers))
  const crowd = await vitals()

  for (const child of [server, ...Object.values(callers)]) {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  sink.close()
  const p99 = { ours: percentile(beside, 99), limit: percentile(alone, 99) }
  const inMemory = `peak memory beside ${crowdCallers} callers with 10 MB each, of which ${(crowdCalls / (ms / 1000)).toFixed(1)}/s were sent`
  return [
    row('p99 of POST /send beside 10 MB a second', 'ms', p99, { atMost: 1.5 }),
    below(`longest turn of the event loop beside it, ${Math.round(turns.alone)} ms without it`, 'ms', turns.beside, 30),
    below(inMemory, 'MB', crowd.rssMb, 450),
  ]
}

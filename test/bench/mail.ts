import { queueMails } from '../../src/messages/messages.ts'
import { runMail } from '../../src/messages/outbox/outbox.run.ts'
import { addSender } from '../../src/senders/senders.ts'
import { html, openSink, perSecond, text, viaPool } from './mail-pool.ts'
import { type Bench, benchAccount, type Row, row } from './support.ts'

const waiting = 20_000
const batch = 1_000

/** The mail job with a backlog, beside nodemailer's pool: same email of 14 KB, same sink, 5 connections. */
export const bench = async (b: Bench): Promise<Row[]> => {
  const { url, close } = await openSink()
  const app = await b.app({ SVC_SMTP_URL: url })
  const account = await benchAccount(app)
  await app.work(account.id, 'cli:bench', (work) => addSender(work, { email: 'hello@shop.example', name: 'Shop' }))
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
  // Variations of the machine affect both: the pool is measured before and after.
  const pool = viaPool(url, waiting / 4)
  const before = await pool()
  const ours = await drain()
  const drained = { ours, limit: (before + (await pool())) / 2 }
  close()
  return [row('20,000 waiting mails beside nodemailer’s pool', 'mails/s', drained, { atLeast: 0.8 })]
}

import { createBroadcast, NewBroadcast, queueBroadcast, sendBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { plainProject } from '../support/projects.ts'
import { type Bench, below, benchAccount, type Row, timed } from './support.ts'

const recipients = 100_000
const limitSeconds = 20

/** Queues a broadcast to 100,000 contacts: the messages, their queue rows and the volume on disk. */
export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app({ SVC_SMTP_URL: 'smtp://127.0.0.1:1' })
  const account = await benchAccount(app)
  const listId = await app.work(account.id, 'cli:bench', async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'Shop' })
    await applyProjects(work, [plainProject('Spring')])
    return (await createList(work, { name: 'People' })).id
  })
  await app.sql(
    `with people as (
       select n, 'c' || n || '@people.example' as email, 'row_' || lpad(n::text, 26, '0') as row_id
       from generate_series(1, $3::int) n
     ), known as (
       insert into addresses (account_id, email, row_id, domain) select $1, email, row_id, 'people.example' from people
     )
     insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
     select $1, row_id, $2, email, jsonb_build_object('name', 'N' || n, 'plan', 'pro'), 'active', svc_now(), svc_now()
     from people`,
    [account.id, listId, recipients],
  )
  const seconds =
    (await timed(async () => {
      const input = NewBroadcast.parse({ list: 'People', project: 'Spring' })
      const { id } = await app.work(account.id, 'cli:bench', async (work) =>
        sendBroadcast(app, work, (await createBroadcast(work, input)).id),
      )
      const options = { actor: 'cli:bench', signal: new AbortController().signal, onStep: async () => {} }
      await queueBroadcast(app, account.id, id, options)
    })) / 1000
  const [row] = await app.sql<{ queued: number }>('select queued from broadcasts where account_id = $1', [account.id])
  if (row?.queued !== recipients) throw new Error(`${row?.queued} are queued`)
  return [below('a broadcast to 100,000 is queued', 's', seconds, limitSeconds)]
}

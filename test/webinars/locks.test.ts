import { expect, onTestFinished, test } from 'vitest'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import { withdrawMails } from '../../src/messages/messages.ts'
import { ok, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { hour, makeWebinar, register } from './support.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })

const begin = async () => {
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  return session
}

test('the erasure of an address locks the webinar before its queued emails, as a move does', async () => {
  const account = await sendingAccount(t)
  const inWork = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  const listId = (await inWork((work) => createList(work, { name: 'People' }))).id
  const email = 'ada@people.example'
  const { id } = await makeWebinar(t, account, { scheduledAt: Date.now() + 48 * hour })
  await ok(register(t, account, id, email))
  await upsertBatch(t.app, account.id, 'cli:test', { listId, contacts: [{ email, fields: {} }] })
  const mover = await begin()
  await mover.query('select from webinars where id = $1 for no key update', [id])
  const erased = inWork((work) => eraseContact(work, email, { dryRun: false }))
  await untilLocked(t.app.database, 1)
  // A deletion that waits for the webinar may not hold what the move locks next.
  const held = await mover.query('select from message_queue where account_id = $1 for update nowait', [account.id])
  expect(held.rowCount).toBe(1)
  await mover.query('commit')
  expect(await erased).toMatchObject({ contacts: 1 })
  expect(await t.app.sql('select from message_queue where account_id = $1', [account.id])).toEqual([])
})

test('withdrawn emails are locked in the order of their ids, whatever the order of their keys', async () => {
  const account = await sendingAccount(t)
  await queueMany(t.app, account.id, 20)
  const rows = await t.app.sql<{ id: string }>('select id from messages where account_id = $1 order by id', [
    account.id,
  ])
  const ids = rows.map(({ id }) => id)
  const keys = ids.map((_, i) => `key ${99 - i}`)
  // The rows are also stored in the order of their keys.
  for (const [i, key] of [...keys.entries()].reverse()) {
    await t.app.sql('update messages set key = $2 where id = $1', [ids[i], key])
    await t.app.sql('update message_queue set tries = 1 where id = $1', [ids[i]])
  }
  const other = await begin()
  await other.query('select from message_queue where id = $1 for update', [ids[0]])
  const withdrawn = t.app.work(account.id, 'cli:test', (work) => withdrawMails(work, keys, 'Not needed'))
  await untilLocked(t.app.database, 1)
  const free = await other.query('select from message_queue where id = any($1) for update nowait', [ids])
  expect(free.rowCount).toBe(20)
  await other.query('commit')
  await withdrawn
  expect(await t.app.sql('select from message_queue where account_id = $1', [account.id])).toEqual([])
})

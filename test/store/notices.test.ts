import { setEnvironmentData } from 'node:worker_threads'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { jobsKey, type Notice, openNotices } from '../../src/store/notices.ts'
import { listen } from '../../src/store/wakeup.ts'
import { useAccount, useApp } from '../support/app.ts'

const t = useApp()
const account = useAccount(t)
const channel = 'svc_test_notices'

/** What this process is told directly. */
const hear = () => {
  const heard: Notice[] = []
  onTestFinished(t.app.database.notices.hear([channel], (notice) => heard.push(notice)))
  return heard
}

/** What PostgreSQL tells any process that listens, with the origin of each notice. */
const receive = async () => {
  const client = new pg.Client({ connectionString: t.url })
  await client.connect()
  onTestFinished(() => client.end())
  const received: string[] = []
  client.on('notification', ({ payload = '' }) => received.push(payload))
  await client.query(`listen ${channel}`)
  return received
}

test('a unit of work announces after its commit, to this process and to others', async () => {
  const heard = hear()
  const received = await receive()
  await t.app.work(account.id, 'cli:test', async ({ announce }) => {
    announce(channel, 'one')
    expect(heard).toEqual([])
  })
  expect(heard).toEqual([{ channel, payload: 'one' }])
  await expect.poll(() => received).toEqual([expect.stringMatching(/^one @[\w-]{12}$/)])
})

test('a unit of work that is rolled back announces nothing, and one that is repeated announces once', async () => {
  const heard = hear()
  const received = await receive()
  const failed = t.app.work(account.id, 'cli:test', async ({ announce }) => {
    announce(channel, 'never')
    throw new Error('rolled back')
  })
  await expect(failed).rejects.toThrow('rolled back')
  let tries = 0
  await t.app.work(account.id, 'cli:test', async ({ announce, sql }) => {
    announce(channel, `try ${++tries}`)
    // 40P01 is a deadlock: the transaction runs again.
    if (tries === 1) await sql(`do $$ begin raise exception 'a deadlock' using errcode = '40P01'; end $$`)
  })
  expect(heard).toEqual([{ channel, payload: 'try 2' }])
  await expect.poll(() => received).toEqual([expect.stringMatching(/^try 2 @/)])
})

test('equal notices that wait together are sent to other processes once', async () => {
  const received = await receive()
  for (let i = 0; i < 1000; i++) t.app.database.notices.announce(channel, i % 2 ? 'odd' : 'even')
  await expect.poll(() => received).toEqual([expect.stringMatching(/^even @/), expect.stringMatching(/^odd @/)])
})

test('a listener is called once for a notice of its own process, also of another pool, and for one of another process', async () => {
  const calls: number[] = []
  const notices = listen(t.app.database, channel, () => calls.push(1))
  onTestFinished(() => notices.close())
  // The first call follows the connection.
  await expect.poll(() => calls).toHaveLength(1)
  const received = await receive()
  const other = openDatabase(t.url)
  onTestFinished(() => other.close())
  t.app.database.notices.announce(channel, 'own')
  other.notices.announce(channel, 'of another pool')
  await expect.poll(() => received).toHaveLength(2)
  await t.app.sql(`select pg_notify('${channel}', 'elsewhere of another process')`)
  await expect.poll(() => received).toHaveLength(3)
  await expect.poll(() => calls).toHaveLength(4)
})

test('the payload of another process arrives without its mark, and that of an earlier version, which has none, as it is', () => {
  const { fromElsewhere } = t.app.database.notices
  for (const payload of ['+1 acc_1 tgt_1 tgt_2', '5 acc_1 ', '']) {
    expect(fromElsewhere(payload)).toBe(payload)
    expect(fromElsewhere(payload === '' ? '@another-name' : `${payload} @another-name`)).toBe(payload)
  }
})

test('work that jobs of the same process can do is announced to other processes later, with the next other notice or at the close', async () => {
  const received = await receive()
  setEnvironmentData(jobsKey, true)
  onTestFinished(() => setEnvironmentData(jobsKey, undefined))
  const { announce, close } = openNotices(t.url, t.app.sql, 3_600_000)
  announce(channel, 'one', { ownFirst: true })
  t.app.database.notices.announce(channel, 'of another pool')
  await expect.poll(() => received).toEqual([expect.stringMatching(/^of another pool @/)])
  announce(channel, 'now')
  await expect.poll(() => received.slice(1)).toEqual([expect.stringMatching(/^one @/), expect.stringMatching(/^now @/)])
  announce(channel, 'two', { ownFirst: true })
  await close()
  await expect.poll(() => received.slice(3)).toEqual([expect.stringMatching(/^two @/)])
  setEnvironmentData(jobsKey, undefined)
  const { announce: atOnce, close: end } = openNotices(t.url, t.app.sql, 3_600_000)
  onTestFinished(end)
  atOnce(channel, 'without jobs', { ownFirst: true })
  await expect.poll(() => received.slice(4)).toEqual([expect.stringMatching(/^without jobs @/)])
})

test('notices that wait are sent before the pool closes', async () => {
  const received = await receive()
  const other = openDatabase(t.url)
  other.notices.announce(channel, 'last')
  await other.close()
  await expect.poll(() => received).toEqual([expect.stringMatching(/^last @/)])
})

test('notices that are announced after the close are dropped', async () => {
  const other = openDatabase(t.url)
  other.notices.announce(channel, 'before')
  await other.close()
  const received = await receive()
  other.notices.announce(channel, 'after')
  // The threads would be told in the next turn of the event loop.
  await new Promise(setImmediate)
  await t.app.sql(`select pg_notify('${channel}', 'elsewhere end')`)
  await expect.poll(() => received).toEqual(['elsewhere end'])
})

test('a pool with a connection for notices sends them while every connection of the pool is busy', async () => {
  const received = await receive()
  const other = openDatabase(t.url, { max: 1, hasNoticeConnection: true })
  await other.transaction(async () => {
    other.notices.announce(channel, 'meanwhile')
    await expect.poll(() => received).toEqual([expect.stringMatching(/^meanwhile @/)])
  })
  await other.close()
})

test('a database that is away loses notices, and neither fails nor ends anything', async () => {
  const other = openDatabase('postgres://nobody@127.0.0.1:1/none', { hasNoticeConnection: true })
  const heard: Notice[] = []
  other.notices.hear([channel], (notice) => heard.push(notice))
  other.notices.announce(channel, 'lost')
  expect(heard).toHaveLength(1)
  await other.close()
})

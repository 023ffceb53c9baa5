import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { openProxy, type TcpProxy } from '../support/proxy.ts'

describe('the proxy between a test and PostgreSQL', () => {
  let proxy: TcpProxy
  const clients: pg.Client[] = []

  const dial = async () => {
    const client = new pg.Client({
      connectionString: proxy.through(inject('serverUrl')),
      connectionTimeoutMillis: 1000,
    })
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }
  const answers = (client: pg.Client): Promise<boolean> =>
    Promise.race([
      client.query('select 1').then(
        () => true,
        () => false,
      ),
      sleep(300, false),
    ])

  beforeEach(async () => {
    proxy = await openProxy(inject('serverUrl'))
  })
  afterEach(async () => {
    await proxy.close()
    await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})))
  })

  test('silenced connections stay open but deliver nothing, and new connections work', async () => {
    const old = await dial()
    expect(await answers(old)).toBe(true)
    expect(proxy.silence()).toBe(1)
    const waiting = answers(old)
    expect(await answers(await dial())).toBe(true)
    expect(await waiting).toBe(false)
    expect(proxy.connections()).toBe(2)
  })

  test('a resumed connection delivers the data that was held back', async () => {
    const client = await dial()
    proxy.silence()
    const answer = client.query('select 1 as one')
    await sleep(100)
    proxy.resume()
    expect((await answer).rows).toEqual([{ one: 1 }])
  })

  test('the server does not see a silenced client disconnect until the proxy resumes', async () => {
    const client = await dial()
    const { rows } = await client.query('select pg_backend_pid() as pid')
    proxy.silence()
    ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    const other = await dial()
    const isThere = async () =>
      (await other.query('select from pg_stat_activity where pid = $1', [rows[0].pid])).rowCount === 1
    await sleep(200)
    expect(await isThere()).toBe(true)
    proxy.resume()
    await expect.poll(isThere).toBe(false)
  })

  test('holds or refuses new connections until it lets them pass again', async () => {
    proxy.hold()
    await expect(dial()).rejects.toThrow('timeout')
    proxy.refuse()
    await expect(dial()).rejects.toThrow(/ECONNRESET|terminated/)
    proxy.pass()
    expect(await answers(await dial())).toBe(true)
  })

  test('a cut resets every connection', async () => {
    const client = await dial()
    proxy.cut()
    expect(await answers(client)).toBe(false)
    expect(proxy.connections()).toBe(0)
  })
})

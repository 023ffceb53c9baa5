import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { openProxy, type TcpProxy } from '../support/proxy.ts'

describe('the proxy between a test and PostgreSQL', () => {
  let proxy: TcpProxy
  const clients: pg.Client[] = []

  const dial = async (options: pg.ClientConfig = {}) => {
    const client = new pg.Client({ ...options, connectionString: proxy.through(inject('serverUrl')) })
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }
  const answers = (client: pg.Client): Promise<boolean> =>
    client.query('select 1').then(
      () => true,
      () => false,
    )

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
    let isAnswered = false
    void answers(old).then(() => {
      isAnswered = true
    })
    const other = await dial()
    for (let round = 0; round < 20; round++) expect(await answers(other)).toBe(true)
    expect(isAnswered).toBe(false)
    expect(proxy.connections()).toBe(2)
  })

  test('a resumed connection delivers the data that was held back', async () => {
    const client = await dial()
    proxy.silence()
    const answer = client.query('select 1 as one')
    expect(await answers(await dial())).toBe(true)
    proxy.resume()
    expect((await answer).rows).toEqual([{ one: 1 }])
  })

  test('the server does not see a silenced client disconnect until the proxy resumes', async () => {
    const pidOf = async (client: pg.Client) => (await client.query('select pg_backend_pid() as pid')).rows[0].pid
    const leave = (client: pg.Client) =>
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    const client = await dial()
    const pid = await pidOf(client)
    proxy.silence()
    leave(client)
    const [other, later] = [await dial(), await dial()]
    const isThere = async (pid: number) =>
      (await other.query('select from pg_stat_activity where pid = $1', [pid])).rowCount === 1
    // The server sees a client that disconnects later.
    const laterPid = await pidOf(later)
    leave(later)
    await expect.poll(() => isThere(laterPid)).toBe(false)
    expect(await isThere(pid)).toBe(true)
    proxy.resume()
    await expect.poll(() => isThere(pid)).toBe(false)
  })

  test('holds or refuses new connections until it lets them pass again', async () => {
    proxy.hold()
    await expect(dial({ connectionTimeoutMillis: 1000 })).rejects.toThrow('timeout')
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

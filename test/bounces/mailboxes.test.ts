import { createServer, type Server } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unsetMailbox } from '../../src/bounces/bounces.ts'
import { readMailboxes, runMailboxes } from '../../src/bounces/mailboxes.read.ts'
import { freePort } from '../support/daemon.ts'
import { settlesWithin } from '../support/eventually.ts'
import { sendingAccount } from '../support/messages.ts'
import { postfix } from '../support/reports.ts'
import { useMailboxes } from './support.ts'

const { t, account, set, show, check, readAll } = useMailboxes()

describe('the mailbox of an account', () => {
  test('is shown without its password, which is stored sealed, until it is unset', async () => {
    const shown = { url: 'imaps://bounces%40shop.example@mail.example:993', password: true, readAt: null, error: null }
    expect(await set('imaps://bounces%40shop.example@mail.example')).toEqual(shown)
    expect(await show()).toEqual(shown)
    const [row] = await t.app.sql<{ sealed_password: string }>('select sealed_password from bounce_mailboxes')
    expect(row!.sealed_password).toMatch(/^v1\./)
    await set('imap://me@[::1]:1143/Mail%20Errors/svc', null)
    expect(await show()).toMatchObject({ url: 'imap://me@[::1]:1143/Mail%20Errors/svc', password: false })
    expect(await t.app.work(account().id, 'cli:test', unsetMailbox)).toBe(true)
    expect(await t.app.work(account().id, 'cli:test', unsetMailbox)).toBe(false)
    await expect(show()).rejects.toMatchObject({ kind: 'not_found' })
    await expect(check()).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('is not visible to other accounts', async () => {
    await set('imaps://me@mail.example')
    const other = await sendingAccount(t)
    await expect(show(other)).rejects.toMatchObject({ kind: 'not_found' })
    expect(await t.app.work(other.id, 'cli:test', unsetMailbox)).toBe(false)
    expect((await show()).url).toBe('imaps://me@mail.example:993')
  })

  test.each([
    'imaps://me:secret@mail.example',
    'imaps://mail.example',
    'https://me@mail.example',
    'mail.example',
    'imaps://me@',
    'imaps://me@mail.example/?x',
    'imaps://m%zz@mail.example',
  ])('%s is refused', async (url) => {
    await expect(set(url)).rejects.toMatchObject({ kind: 'invalid' })
  })

  test('that can’t be reached shows this in its test and its status', async () => {
    await set(`imap://me@127.0.0.1:${await freePort()}`)
    expect(await check()).toEqual({ ok: false, error: 'connection refused' })
    await set('imaps://me@nowhere.test')
    expect(await check()).toEqual({ ok: false, error: 'host name does not resolve' })
    await readAll()
    expect(await show()).toMatchObject({ error: 'host name does not resolve', readAt: expect.any(Number) })
  })

  test('whose server does not respond is disconnected when the process stops, without a delay', async () => {
    const silent: Server = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const sockets: { destroy(): void }[] = []
    const connected = new Promise<void>((resolve) =>
      silent.on('connection', (socket) => {
        sockets.push(socket)
        resolve()
      }),
    )
    await set(`imap://me@127.0.0.1:${(silent.address() as { port: number }).port}`)
    const stop = new AbortController()
    const running = runMailboxes(t.app, stop.signal)
    await connected
    stop.abort()
    expect(await settlesWithin(running, 3000)).toBe(true)
    expect((await show()).readAt).toBe(null)
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  test('that is replaced while it is read gets nothing of the result of the former one', async () => {
    const connected = Promise.withResolvers<{ destroy(): void }>()
    const server = createServer(connected.resolve)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await set(`imap://me@127.0.0.1:${(server.address() as { port: number }).port}`)
    const reading = readAll()
    const socket = await connected.promise
    const replaced = await set('imaps://me@mail.example')
    socket.destroy()
    await reading
    server.close()
    expect(await show()).toEqual(replaced)
  })

  /** Sets a mailbox of two unread messages, whose server answers one command with `NO …`, or with the end of the connection. */
  const openServer = async (message: string, command?: string, answer: string | null = null) => {
    const answers: Record<string, string> = {
      CAPABILITY: '* CAPABILITY IMAP4rev1',
      LIST: '* LIST () "/" INBOX',
      SELECT: '* 2 EXISTS',
      SEARCH: '* SEARCH 1 2',
      FETCH: `* 1 FETCH (UID 1 BODY[]<0> {${message.length}}\r\n${message})`,
    }
    const asked: string[] = []
    const server = createServer((socket) => {
      socket.on('error', () => {}).write('* OK ready\r\n')
      socket.setEncoding('utf8').on('data', (lines: string) => {
        for (const [, tag, verb, uid] of lines.matchAll(/^(\S+) (?:UID )?(\S+) ?(\S*)/gm)) {
          if (verb === 'FETCH' || verb === 'STORE') asked.push(`${verb} ${uid}`)
          if (verb !== command) socket.write(`${answers[verb!] ?? '* OK'}\r\n${tag} OK\r\n`)
          else if (answer?.startsWith('NO')) socket.write(`${tag} ${answer}\r\n`)
          else socket.end(answer ? `* ${answer}\r\n` : '')
        }
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    await set(`imap://me@127.0.0.1:${(server.address() as { port: number }).port}`)
    return asked
  }

  test.each([
    ['refuses the search', 'SEARCH', 'NO internal', [], 'the server refused to search the folder'],
    ['closes the connection at the search', 'SEARCH', null, [], 'connection closed before an answer'],
    ['closes the connection at a message', 'FETCH', null, ['FETCH 1'], 'connection closed before an answer'],
    ['closes the connection at a mark', 'STORE', null, ['FETCH 1', 'STORE 1'], 'connection closed before an answer'],
    ['says why it closes the connection', 'SELECT', 'BYE restarting', [], 'the server answered: restarting'],
    [
      ...(['marks no message', 'STORE', 'NO read-only', ['FETCH 1', 'STORE 1', 'FETCH 2', 'STORE 2']] as const),
      'messages cannot be marked as seen: they are read again each minute',
    ],
  ])('whose server %s shows this in its status', async (_, command, answer, expected, error) => {
    const asked = await openServer('Subject: x\r\n\r\nThanks', command, answer)
    await readAll()
    expect(await show()).toMatchObject({ error, readAt: expect.any(Number) })
    expect(asked).toEqual(expected)
    if (command === 'SEARCH') expect(await check()).toEqual({ ok: false, error })
  })

  test('that is read while the database goes away says so, and the message stays unread', async () => {
    const asked = await openServer(postfix({ id: 'msg_01' }))
    const away = Object.assign(new Error('terminating connection'), { code: '57P01' })
    const sql = (query: { name: string }, ...more: unknown[]): Promise<unknown> =>
      query.name === 'message-of-report' ? Promise.reject(away) : (t.app.sql as unknown as typeof sql)(query, ...more)
    const faults: unknown[] = []
    const app = { ...t.app, sql } as unknown as typeof t.app
    await readMailboxes(app, new AbortController().signal, (fault) => faults.push(fault))
    expect([(await show()).error, faults, asked]).toEqual(['the database was not available', [], ['FETCH 1']])
  })

  test('is read beside others, whose locks are taken one after the other on one connection', async () => {
    for (const owner of [account(), await sendingAccount(t), await sendingAccount(t)])
      await set('imaps://me@nowhere.test', null, owner)
    let most = 0
    const connect: typeof t.app.database.connect = async () => {
      const connection = await t.app.database.connect()
      const query = connection.query.bind(connection) as (...args: unknown[]) => Promise<unknown>
      let running = 0
      const counted = async (...args: unknown[]) => {
        most = Math.max(most, ++running)
        return query(...args).finally(() => running--)
      }
      return Object.assign(connection, { query: counted })
    }
    await readMailboxes({ ...t.app, database: { ...t.app.database, connect } }, new AbortController().signal, () => {})
    expect(await t.app.sql('select from bounce_mailboxes where read_at is null')).toEqual([])
    expect(most).toBe(1)
  })
})

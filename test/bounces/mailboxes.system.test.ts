import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readMailboxes } from '../../src/bounces/mailboxes.read.ts'
import { lockClasses } from '../../src/lib/locks.ts'
import { certificate } from '../support/certificate.ts'
import { type Dovecot, openDovecot } from '../support/dovecot.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { needs } from '../support/needs.ts'
import { postfix } from '../support/reports.ts'
import { useMailboxes } from './support.ts'

const { t, account, set, show, check, readAll } = useMailboxes()

describe('with a real server (Dovecot)', needs('dovecot'), () => {
  let dovecot: Dovecot
  let users = 0
  let user: string

  beforeAll(async () => {
    dovecot = await openDovecot()
  })
  beforeEach(() => {
    user = `user${++users}`
  })
  afterAll(() => dovecot?.close())

  const url = (more = '') => `imap://${user}@127.0.0.1:${dovecot.port}${more}`
  const bounced = async (count: number, of = account()) => {
    const queued = await queueMany(t.app, of.id, count)
    return queued.map((mail) => postfix({ id: 'id' in mail ? mail.id : '' }))
  }
  const suppressed = async (of = account()) =>
    (await t.app.sql('select 1 from suppressions where account_id = $1', [of.id])).length
  const person = 'From: ada@people.example\r\nSubject: Thanks\r\n\r\nThanks\r\n'

  test('unread messages are recorded and marked as seen; later ones a minute later', async () => {
    for (const message of [...(await bounced(3)), person]) await dovecot.deliver(user, message)
    await set(url())
    expect(await check()).toEqual({ ok: true, unread: 4 })
    expect(await dovecot.tally(user)).toEqual({ unread: 4, read: 0 })
    await readAll()
    expect(await suppressed()).toBe(3)
    expect(await dovecot.tally(user)).toEqual({ unread: 0, read: 4 })
    expect(await show()).toMatchObject({ error: null, readAt: expect.any(Number) })
    await dovecot.deliver(user, (await bounced(1))[0]!.replace('5.1.1', '5.2.1'))
    await readAll()
    expect((await dovecot.tally(user)).unread).toBe(1)
    await t.advance(60_000)
    await readAll()
    expect((await dovecot.tally(user)).unread).toBe(0)
  })

  test('a message that was recorded but not marked is read again and recognised', async () => {
    const [report] = await bounced(1)
    await dovecot.deliver(user, report!)
    await dovecot.deliver(user, report!)
    await set(url())
    await readAll()
    expect([await suppressed(), await dovecot.tally(user)]).toEqual([1, { unread: 0, read: 2 }])
    expect(await t.app.sql('select 1 from message_reports where account_id = $1', [account().id])).toHaveLength(1)
  })

  test('a message that can’t be recorded stays unread, and the next ones are read', async () => {
    const reports = await bounced(2)
    for (const report of reports) await dovecot.deliver(user, report)
    const [{ id }] = (await t.app.sql('select id from messages where account_id = $1 order by email', [
      account().id,
    ])) as [{ id: string }]
    await t.app.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin
         if new.message_id = '${id}' then raise 'a fault of ours'; end if; return new; end $$`,
    )
    await t.app.sql('create trigger refuse before insert on message_reports for each row execute function refuse()')
    await set(url())
    const faults: unknown[] = []
    await readMailboxes(t.app, new AbortController().signal, (fault) => faults.push(fault))
    await t.app.sql('drop function refuse cascade')
    expect([faults.length, await suppressed(), await dovecot.tally(user)]).toEqual([1, 1, { unread: 1, read: 1 }])
    await t.advance(60_000)
    await readAll()
    expect([await suppressed(), await dovecot.tally(user)]).toEqual([2, { unread: 0, read: 2 }])
  })

  test('only one process at a time reads it', async () => {
    await dovecot.deliver(user, (await bounced(1))[0]!)
    await set(url())
    const other = await t.app.database.connect()
    await other.query('select pg_advisory_lock($1, hashtext($2))', [lockClasses.mailbox, account().id])
    await readAll()
    expect([await suppressed(), (await show()).readAt]).toEqual([0, null])
    await other.end()
    await readAll()
    expect(await suppressed()).toBe(1)
  })

  test('only messages of its own account are matched', async () => {
    const other = await sendingAccount(t)
    await dovecot.deliver(user, (await bounced(1, other))[0]!)
    await set(url())
    await readAll()
    expect([await suppressed(), await suppressed(other)]).toEqual([0, 0])
  })

  test('a failing mailbox does not delay the others, and its status shows the error', async () => {
    const other = await sendingAccount(t)
    await dovecot.deliver(user, (await bounced(1, other))[0]!)
    await set(url(), 'wrong')
    await set(url(), 'secret', other)
    await readAll()
    expect(await suppressed(other)).toBe(1)
    expect((await show()).error).toMatch(/^the server refused the sign-in/)
    expect((await show()).error).not.toContain('wrong')
    expect((await show(other)).error).toBe(null)
    await set(url('/Nowhere'))
    expect(await check()).toMatchObject({ ok: false, error: expect.stringMatching(/^the server answered: .*Nowhere/) })
  })

  test('an untrusted certificate, or one for another name, ends the connection before the password is sent', async () => {
    await dovecot.deliver(user, (await bounced(1))[0]!)
    const secure = (host: string) => `imaps://${user}@${host}:${dovecot.securePort}`
    await set(secure('tls.test'))
    expect(await check()).toMatchObject({ ok: false, error: expect.stringMatching(/certificate/i) })
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, certificate])
    expect(await check()).toEqual({ ok: true, unread: 1 })
    await set(secure('other.test'))
    expect(await check()).toMatchObject({ ok: false, error: expect.stringMatching(/certificate/i) })
    setDefaultCACertificates(trusted)
    await set(`imap://${user}@tls.test:${dovecot.port}`)
    expect(await check()).toMatchObject({ ok: false })
  })
})

import { describe, expect, test } from 'vitest'
import { addAddressSignal, writeContacts } from '../../../src/contacts/contacts.ts'
import { recheckDomains } from '../../../src/contacts/verification/recheck.ts'
import { reverify } from '../../../src/contacts/verification/reverify.ts'
import type { Sql } from '../../../src/store/database.ts'
import type { TestAccount } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { textOf, untilLocked } from '../../support/database.ts'
import { waitLimitMs } from '../../support/slowness.ts'
import { useContacts } from '../support.ts'

const mx = { MX: [[10, 'mx.example.net']] as [number, string][] }

const app = useContacts()

const verificationOf = async (account: TestAccount, email: string) =>
  (await app.get(account, `email=${encodeURIComponent(email)}`)).body.contacts[0].verification

const withList = async () => {
  const account = await app.account()
  return { account, listId: (await app.list(account)).id }
}

/** Deletes the cached DNS results. */
const forget = () => app.app.sql('delete from mail_domains')

const recheck = () => recheckDomains(app.app, AbortSignal.timeout(waitLimitMs))

/** Adds `count` addresses of a domain for which DNS has not answered. */
const addDoubtful = async ({ id }: TestAccount, listId: string, domain: string, count: number) => {
  for (let from = 0; from < count; from += 1_000) {
    const emails = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => `p${from + i}@${domain}`)
    const verifications = new Map(
      emails.map((email) => [email, { status: 'unknown' as const, reasons: ['dns_timeout'] }]),
    )
    const writes = emails.map((email) => ({ email, fields: {} }))
    await app.app.work(id, 'cli:test', (work) => writeContacts(work, listId, writes, verifications))
  }
}

/** The app, with a record of each statement and its rows. */
const counting = () => {
  const ran: { text: string; rows: number }[] = []
  const count = (sql: Sql): Sql => {
    const counted = async (...[query, ...more]: Parameters<Sql>) => {
      const rows = await sql(query, ...more)
      ran.push({ text: textOf(query), rows: rows.length })
      return rows
    }
    return counted as Sql
  }
  const { app: inner } = app
  return {
    ran,
    app: {
      ...inner,
      now: () => inner.now(),
      sql: count(inner.sql),
      work: ((id, actor, run) =>
        inner.work(id, actor, (work) => run({ ...work, sql: count(work.sql) }))) as typeof inner.work,
      operate: ((actor, run) =>
        inner.operate(actor, (operation) => run({ ...operation, sql: count(operation.sql) }))) as typeof inner.operate,
    },
  }
}

describe('the recheck', () => {
  test('saves results of unknown addresses once DNS answers, updates no contact and fires no event', async () => {
    const { account, listId } = await withList()
    app.dns.set('flaky.test', { mode: 'servfail' })
    await app.post(account, { listId, email: 'ada@flaky.test' })
    await app.subscribe(account)
    const [before] = (await app.get(account, 'email=ada@flaky.test')).body.contacts
    expect(before.verification).toMatchObject({ status: 'unknown', reasons: ['dns_error'] })
    app.dns.set('flaky.test', mx)
    await forget()
    expect(await recheck()).toBe(1)
    const [after] = (await app.get(account, 'email=ada@flaky.test')).body.contacts
    expect(after.verification).toMatchObject({ status: 'valid', reasons: [] })
    expect(after.verification.checkedAt).toBeGreaterThan(before.verification.checkedAt)
    expect(after.updatedAt).toBe(before.updatedAt)
    expect(await app.events(account.id)).toEqual([])
    expect(await recheck()).toBe(0)
  })

  test('also checks risky and bounced addresses for whose domain DNS did not answer', async () => {
    const { account, listId } = await withList()
    app.dns.set('slow.test', { mode: 'servfail' })
    for (const name of ['info', 'sales', 'ada']) await app.post(account, { listId, email: `${name}@slow.test` })
    await app.app.work(account.id, 'cli:test', (work) => addAddressSignal(work, 'ada@slow.test', 'hard_bounced'))
    expect(await verificationOf(account, 'info@slow.test')).toMatchObject({
      status: 'risky',
      reasons: ['role_account', 'dns_error'],
    })
    app.dns.set('slow.test', mx)
    await forget()
    expect(await recheck()).toBe(3)
    expect(await verificationOf(account, 'info@slow.test')).toMatchObject({
      status: 'risky',
      reasons: ['role_account'],
    })
    expect(await verificationOf(account, 'ada@slow.test')).toMatchObject({
      status: 'invalid',
      reasons: ['hard_bounced'],
    })
    app.dns.set('slow.test', { mode: 'nxdomain' })
    await forget()
    expect(await recheck()).toBe(0)
  })

  test('reads each address of a domain once, and none of a domain for which DNS still does not answer', async () => {
    const { account, listId } = await withList()
    app.dns.set('many.test', mx)
    app.dns.set('dead.test', { mode: 'servfail' })
    await addDoubtful(account, listId, 'many.test', 2_100)
    await addDoubtful(account, listId, 'dead.test', 1_000)
    await forget()
    const counted = counting()
    expect(await recheckDomains(counted.app, AbortSignal.timeout(waitLimitMs))).toBe(2_100)
    const reads = counted.ran.filter(({ text }) => /^\s*select account_id/.test(text))
    expect(reads.reduce((sum, { rows }) => sum + rows, 0)).toBe(2_100)
    expect(counted.ran.length).toBeLessThan(40)
    expect(await verificationOf(account, 'p7@dead.test')).toMatchObject({ status: 'unknown' })
  })
})

describe('svc contacts verify', () => {
  const verify = async (account: TestAccount, ...args: string[]) => {
    const ran = await svc(app, ['--account', account.id, 'contacts', 'verify', ...args, '--json'])
    expect(ran.status).toBe(0)
    return ran
  }

  test('renews checkedAt, also of a verification that stays the same', async () => {
    const { account, listId } = await withList()
    app.dns.set('renewed.test', mx)
    const before = (await app.post(account, { listId, email: 'ada@renewed.test' })).body.contact
    expect((await verify(account, 'ada@renewed.test')).json).toMatchObject({ verified: 1, valid: 1 })
    const after = (await app.get(account, 'email=ada@renewed.test')).body.contacts[0]
    expect(after.verification).toMatchObject({ status: 'valid', reasons: [] })
    expect(after.verification.checkedAt).toBeGreaterThan(before.verification.checkedAt)
    expect(after.updatedAt).toBe(before.updatedAt)
  })

  test('keeps conclusive results if DNS does not answer, and reports it', async () => {
    const { account, listId } = await withList()
    app.dns.set('outage.test', mx)
    await app.post(account, { listId, email: 'ada@outage.test' })
    await app.post(account, { listId, email: 'info@outage.test' })
    const before = await verificationOf(account, 'ada@outage.test')
    app.dns.set('outage.test', { mode: 'servfail' })
    app.dns.set('never.test', { mode: 'servfail' })
    const unknown = (await app.post(account, { listId, email: 'ada@never.test' })).body.contact.verification
    await forget()
    const ran = await verify(account, '--list', listId)
    expect(ran.json).toEqual({ verified: 3, valid: 0, risky: 1, invalid: 0, unknown: 2 })
    expect(ran.stderr).toContain('no answer for 3')
    expect(await verificationOf(account, 'ada@outage.test')).toEqual(before)
    expect(await verificationOf(account, 'info@outage.test')).toMatchObject({ reasons: ['role_account'] })
    const renewed = await verificationOf(account, 'ada@never.test')
    expect(renewed).toMatchObject({ status: 'unknown', reasons: ['dns_error'] })
    expect(renewed.checkedAt).toBeGreaterThan(unknown.checkedAt)
  })

  test('needs the same number of statements for a thousand addresses as for one', async () => {
    const { account, listId } = await withList()
    app.dns.set('bulk.test', mx)
    await addDoubtful(account, listId, 'bulk.test', 1_000)
    const emails = Array.from({ length: 1_000 }, (_, i) => `p${i}@bulk.test`)
    const counted = counting()
    const verifications = await reverify(counted.app, account.id, 'cli:test', emails)
    expect(verifications.every(({ status }) => status === 'valid')).toBe(true)
    expect(counted.ran.length).toBeLessThan(8)
    expect(await verificationOf(account, 'p999@bulk.test')).toMatchObject({ status: 'valid' })
  })

  test('keeps a bounce that is recorded during the verification', async () => {
    const { account, listId } = await withList()
    app.dns.set('bounce.test', mx)
    await app.post(account, { listId, email: 'ada@bounce.test' })
    let judged: Promise<unknown> = Promise.resolve()
    await app.app.work(account.id, 'cli:test', async (work) => {
      await addAddressSignal(work, 'ada@bounce.test', 'hard_bounced')
      judged = reverify(app.app, account.id, 'cli:test', ['ada@bounce.test'])
      await untilLocked(app.app, 1)
    })
    expect(await judged).toMatchObject([{ status: 'invalid', reasons: ['hard_bounced'] }])
    expect(await verificationOf(account, 'ada@bounce.test')).toMatchObject({ status: 'invalid' })
  })
})

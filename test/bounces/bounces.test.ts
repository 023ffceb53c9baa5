import { Readable } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { type BounceCounts, ingestBounces } from '../../src/bounces/bounces.ts'
import { createList, showContact, writeContacts } from '../../src/contacts/contacts.ts'
import { reverify } from '../../src/contacts/verification/reverify.ts'
import { removeSuppressions } from '../../src/suppressions/suppressions.add.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { costOf } from '../support/cost.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { exchange, exim, googleDelayed, mbox, postfix, qmail, type Reported, yahoo } from '../support/reports.ts'

const day = 86_400_000
const ada = 'ada@people.dev'

let account: TestAccount

const t = useApp({ development: true, env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_DNS_SERVERS: '127.0.0.1:9' } })
beforeEach(async () => {
  account = await sendingAccount(t)
})

const read = (text: string | Buffer, more: { accountId?: string; dryRun?: boolean } = {}): Promise<BounceCounts> =>
  ingestBounces(t.app, Readable.from([Buffer.from(text)]), { accountId: null, actor: 'cli:test', ...more })

const counts = (more: Partial<BounceCounts> = {}): BounceCounts => ({
  ...{ read: 1, bounced: 0, delayed: 0, complained: 0, unmatched: 0 },
  ...more,
})

/** Sends emails to Ada, and returns their ids. */
const sent = async (count = 1, of = account): Promise<string[]> => {
  const queued = await queueMany(t.app, of.id, count, { to: ada })
  return queued.map((mail) => ('id' in mail ? mail.id : ''))
}
const about = async (): Promise<Reported> => ({ id: (await sent())[0]! })
const verp = (id: string, stamp = t.app.tokens.stamp('bounce', id)) => `bounces+${id}.${stamp}@shop.example`

const suppressionsOf = async ({ id } = account) =>
  (
    await t.app.sql<{ email: string; reason: string }>(
      'select email, reason from suppressions where account_id = $1 order by email, reason',
      [id],
    )
  ).map(({ email, reason }) => `${email} ${reason}`)

const contact = (verdict: 'valid' | 'risky' = 'valid', reasons: string[] = [], of = account) =>
  t.app.work(of.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await writeContacts(work, id, [{ email: ada, fields: {} }], new Map([[ada, { status: verdict, reasons }]]))
  })
const held = () => t.app.work(account.id, 'cli:test', async (work) => (await showContact(work, ada))[0]!)
const verdict = async () => {
  const { verification } = await held()
  return `${verification?.status} ${verification?.reasons.join(' ')}`.trim()
}

describe('a delivery report', () => {
  test.each([
    ['Postfix', postfix],
    ['Exchange', exchange],
    ['Exim', exim],
  ])('of %s is matched by the original’s Message-ID', async (_, write) => {
    await contact()
    expect(await read(write(await about()))).toEqual(counts({ bounced: 1 }))
    expect(await suppressionsOf()).toEqual([`${ada} bounced`])
    expect(await verdict()).toBe('invalid hard_bounced')
    expect(await t.events(account.id)).toEqual([])
  })

  test.each([
    ['Postfix', postfix],
    ['Exchange', exchange],
    ['Exim', exim],
  ])('of %s is matched by the VERP recipient, whatever it contains of the original', async (_, write) => {
    const { id } = await about()
    const report = write({ id, to: verp(id) }).replace(/<msg_\w+@shop\.example>/gi, '<another@elsewhere.example>')
    expect(await read(report)).toEqual(counts({ bounced: 1 }))
    expect(await suppressionsOf()).toEqual([`${ada} bounced`])
  })

  test('to the VERP recipient is also matched in Delivered-To, and in upper case', async () => {
    const { id } = await about()
    const report = `Delivered-To: ${verp(id).toUpperCase()}\r\n${postfix({ id: 'msg_unknown' })}`
    expect(await read(report)).toEqual(counts({ bounced: 1 }))
  })

  test('failed with 5.x.x suppresses the message’s recipient, whatever address the report names', async () => {
    expect(await read(postfix(await about(), { finalRecipient: 'eve@elsewhere.example' }))).toEqual(
      counts({ bounced: 1 }),
    )
    expect(await suppressionsOf()).toEqual([`${ada} bounced`])
  })

  test('delayed changes nothing', async () => {
    await contact()
    const message = await about()
    expect(await read(googleDelayed(message))).toEqual(counts({ delayed: 1 }))
    expect([await suppressionsOf(), await verdict()]).toEqual([[], 'valid'])
    expect(await read(postfix(message))).toEqual(counts({ bounced: 1 }))
    expect(await suppressionsOf()).toEqual([`${ada} bounced`])
  })

  test.each(['delivered', 'relayed', 'expanded'])('%s is neither a bounce nor unmatched', async (action) => {
    expect(await read(postfix(await about(), { action, status: '2.0.0' }))).toEqual(counts())
    expect(await suppressionsOf()).toEqual([])
  })

  test('that was recorded before counts only as read, even if it arrives again with other headers', async () => {
    const report = postfix(await about())
    expect(await read(mbox(report, report))).toEqual(counts({ read: 2, bounced: 1 }))
    expect(await read(report.replace('Return-Path: <>\r\n', 'X-UID: 7\r\nStatus: RO\r\n'))).toEqual(counts())
    await t.app.work(account.id, 'cli:test', (work) => removeSuppressions(work, ada, null))
    expect(await read(report)).toEqual(counts())
    expect(await suppressionsOf()).toEqual([])
  })

  test('that two processes read at the same time counts once', async () => {
    const report = postfix(await about())
    const all = await Promise.all(Array.from({ length: 8 }, () => read(report)))
    expect(all.reduce((sum, { bounced }) => sum + bounced, 0)).toBe(1)
  })
})

describe('failed with 4.x.x', () => {
  const soft = (id: string) => postfix({ id }, { status: '4.4.7', diagnostic: 'smtp; 452 4.2.2 Over quota' })

  test('the third within 7 days suppresses, and each counts as bounced', async () => {
    await contact()
    const [first, second, third] = await sent(3)
    expect(await read(soft(first!))).toEqual(counts({ bounced: 1 }))
    expect(await read(mbox(soft(first!), soft(second!)))).toEqual(counts({ read: 2, bounced: 1 }))
    expect([await suppressionsOf(), await verdict()]).toEqual([[], 'valid'])
    expect(await read(soft(third!))).toEqual(counts({ bounced: 1 }))
    expect([await suppressionsOf(), await verdict()]).toEqual([[`${ada} bounced`], 'invalid hard_bounced'])
  })

  test('a report older than 7 days does not count', async () => {
    const ids = await sent(4)
    await read(mbox(soft(ids[0]!), soft(ids[1]!)))
    await t.advance(7 * day + 1000)
    await read(soft(ids[2]!))
    expect(await suppressionsOf()).toEqual([])
    await t.advance(6 * day)
    await read(soft(ids[3]!))
    expect(await suppressionsOf()).toEqual([])
  })

  test('three reports about three addresses, or in two accounts, suppress no address', async () => {
    const other = await sendingAccount(t)
    const mixed = await queueMany(t.app, account.id, 3)
    const ids = [...mixed.map((mail) => ('id' in mail ? mail.id : '')), ...(await sent(2)), ...(await sent(1, other))]
    expect(await read(mbox(...ids.map(soft)))).toEqual(counts({ read: 6, bounced: 6 }))
    expect([await suppressionsOf(), await suppressionsOf(other)]).toEqual([[], []])
  })

  test('three concurrent reports count as three', async () => {
    await Promise.all((await sent(3)).map((id) => read(soft(id))))
    expect(await suppressionsOf()).toEqual([`${ada} bounced`])
  })
})

describe('an abuse report', () => {
  test('suppresses as complained, and the verification status is risky', async () => {
    await contact('valid')
    expect(await read(yahoo(await about()))).toEqual(counts({ complained: 1 }))
    expect([await suppressionsOf(), await verdict()]).toEqual([[`${ada} complained`], 'risky complained'])
  })

  test('is matched by the VERP recipient that it names as the envelope sender', async () => {
    const { id } = await about()
    const report = yahoo({ id }).replace('<hello@shop.example>\r\nOriginal-Rcpt', `<${verp(id)}>\r\nOriginal-Rcpt`)
    expect(await read(report.replace(`<${id}@`, '<gone@'))).toEqual(counts({ complained: 1 }))
  })

  test.each(['not-spam', 'auth-failure'])('%s is not a complaint', async (type) => {
    expect(await read(yahoo(await about(), type))).toEqual(counts())
    expect(await suppressionsOf()).toEqual([])
  })

  test('of an address that also bounced: the verification lists all reasons, and the most severe decides', async () => {
    await contact('risky', ['role_account'])
    const message = await about()
    expect(await read(mbox(yahoo(message), postfix(message)))).toEqual(counts({ read: 2, bounced: 1, complained: 1 }))
    expect(await verdict()).toBe('invalid hard_bounced role_account complained')
    expect(await suppressionsOf()).toEqual([`${ada} bounced`, `${ada} complained`])
  })
})

describe('unmatched, without any change, is', () => {
  const nothing = async () => {
    expect(await suppressionsOf()).toEqual([])
    expect(await t.app.sql('select 1 from message_reports where account_id = $1', [account.id])).toEqual([])
  }

  test.each([
    ['a wrong stamp', (id: string) => verp(id, '0123456789abcdef')],
    ['the stamp of another message', (id: string) => verp(id, t.app.tokens.stamp('bounce', 'msg_other'))],
    ['a short stamp', (id: string) => verp(id, 'x')],
    ['no stamp', (id: string) => `bounces+${id}@shop.example`],
  ])('a forged report: %s, even with a known Message-ID', async (_, to) => {
    const message = await about()
    expect(await read(postfix({ ...message, to: to(message.id) }))).toEqual(counts({ unmatched: 1 }))
    expect(await read(yahoo({ ...message, to: to(message.id) }))).toEqual(counts({ unmatched: 1 }))
    await nothing()
  })

  test('a report with an unknown Message-ID, a known one with another domain, or none', async () => {
    const { id } = await about()
    expect(await read(postfix({ id: `msg_${'0'.repeat(26)}` }))).toEqual(counts({ unmatched: 1 }))
    expect(await read(postfix({ id, domain: 'elsewhere.example' }))).toEqual(counts({ unmatched: 1 }))
    expect(await read(postfix({ id }).replace(/Message-ID:\r\n .*\r\n/, ''))).toEqual(counts({ unmatched: 1 }))
    await nothing()
  })

  test('a message that is not a report: a qmail notice, a reply, a forwarded report, only headers', async () => {
    const message = await about()
    expect(await read(qmail({ ...message, to: verp(message.id) }))).toEqual(counts({ unmatched: 1 }))
    expect(await read('From: ada@people.dev\r\nSubject: Re: Your order\r\n\r\nThanks\r\n')).toEqual(
      counts({ unmatched: 1 }),
    )
    const forwarded = `From: eve@people.dev\r\nTo: ${verp(message.id)}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=fw\r\n\r\n--fw\r\nContent-Type: message/rfc822\r\n\r\n${postfix(message)}\r\n--fw--\r\n`
    expect(await read(forwarded)).toEqual(counts({ unmatched: 1 }))
    expect(await read('Subject: x\r\n')).toEqual(counts({ unmatched: 1 }))
    await nothing()
  })

  test('a report without an action', async () => {
    expect(await read(postfix(await about()).replace(/Action: .*\r\n/, ''))).toEqual(counts({ unmatched: 1 }))
    await nothing()
  })

  test('a report of another account, if an account is given', async () => {
    const other = await sendingAccount(t)
    const report = postfix(await about())
    expect(await read(report, { accountId: other.id })).toEqual(counts({ unmatched: 1 }))
    await nothing()
    expect(await read(report, { accountId: account.id })).toEqual(counts({ bounced: 1 }))
  })
})

test('without an account, messages of all accounts are matched', async () => {
  const other = await sendingAccount(t)
  const [[mine], [theirs]] = [await sent(), await sent(1, other)]
  expect(await read(mbox(postfix({ id: mine! }), yahoo({ id: theirs! })))).toEqual(
    counts({ read: 2, bounced: 1, complained: 1 }),
  )
  expect([await suppressionsOf(), await suppressionsOf(other)]).toEqual([[`${ada} bounced`], [`${ada} complained`]])
})

test('a report of an account that has moved is unmatched, and the others are read', async () => {
  const moved = await sendingAccount(t)
  const [[mine], [theirs]] = [await sent(), await sent(1, moved)]
  await t.app.sql(`update accounts set move = 'exported' where id = $1`, [moved.id])
  const reports = mbox(postfix({ id: theirs! }), postfix({ id: mine! }))
  const expected = counts({ read: 2, bounced: 1, unmatched: 1 })
  expect(await read(reports, { dryRun: true })).toEqual(expected)
  expect(await read(reports)).toEqual(expected)
  expect([await suppressionsOf(), await suppressionsOf(moved)]).toEqual([[`${ada} bounced`], []])
})

test('a dry run counts and changes nothing', async () => {
  const report = postfix(await about())
  expect(await read(report, { dryRun: true })).toEqual(counts({ bounced: 1 }))
  expect(await suppressionsOf()).toEqual([])
  await read(report)
  expect(await read(report, { dryRun: true })).toEqual(counts())
})

describe('the verification of an address keeps its bounces and complaints', () => {
  test('when the address is verified again, saved again, or added to a list later', async () => {
    await read(postfix(await about()))
    await contact()
    expect(await verdict()).toBe('invalid hard_bounced')
    expect((await reverify(t.app, account.id, 'cli:test', [ada]))[0]).toMatchObject({
      status: 'invalid',
      reasons: ['hard_bounced', 'dns_error'],
    })
    const { listId } = await held()
    const valid = new Map([[ada, { status: 'valid' as const, reasons: [] }]])
    await t.app.work(account.id, 'cli:test', (work) =>
      writeContacts(work, listId, [{ email: ada, fields: { a: 'b' } }], valid),
    )
    expect(await verdict()).toBe('invalid hard_bounced')
  })

  test('until its suppression is removed, for that reason only', async () => {
    await contact('risky', ['role_account'])
    const message = await about()
    await read(mbox(postfix(message), yahoo(message)))
    const remove = (reason: 'bounced' | null) =>
      t.app.work(account.id, 'cli:test', (work) => removeSuppressions(work, ada, reason))
    expect(await remove('bounced')).toEqual(['bounced'])
    expect(await verdict()).toBe('risky role_account complained')
    expect(await remove(null)).toEqual(['complained'])
    expect(await verdict()).toBe('risky role_account')
  })

  test('in its own account only', async () => {
    const other = await sendingAccount(t)
    await contact()
    await contact('valid', [], other)
    await read(postfix({ id: (await sent(1, other))[0]! }))
    expect(await verdict()).toBe('valid')
  })
})

describe('an mbox', () => {
  test('is read in any chunks, with LF line ends, with quoted From lines, and without From lines', async () => {
    const ids = await sent(3)
    const text = mbox(...ids.map((id) => postfix({ id })))
      .replaceAll('\r\n', '\n')
      .replace('It is on its way.', 'It is\n\nFrom here on its way')
    const chunks = text.match(/.{1,7}/gs)!.map((part) => Buffer.from(part))
    const ran = await ingestBounces(t.app, Readable.from(chunks), { accountId: null, actor: 'cli:test' })
    expect(ran).toEqual(counts({ read: 3, bounced: 3 }))
    expect(await read('')).toEqual(counts({ read: 0 }))
    expect(await read('\n\n')).toEqual(counts({ read: 0 }))
  })
})

describe('hostile input', () => {
  const within = async (ms: number, text: string | Buffer) => {
    const [cost, counted] = await costOf(() => read(text))
    expect(cost).toBeLessThan(ms)
    return counted
  }

  test('50 MB of one line, or of garbage, are one message', async () => {
    expect(await within(10_000, Buffer.alloc(50_000_000, 'x'))).toEqual(counts({ unmatched: 1 }))
    const garbage = Buffer.alloc(5_000_000)
    for (let i = 0; i < garbage.length; i++) garbage[i] = (i * 7919 + (i >> 8) * 104_729) & 255
    expect(await within(10_000, garbage)).toEqual(counts({ unmatched: 1 }))
  })

  test('a report that returns 50 MB is a report', async () => {
    const report = postfix(await about()).replace(
      'It is on its way.',
      `${'It is on its way. '.repeat(50)}\r\n`.repeat(55_000),
    )
    expect(await within(10_000, report)).toEqual(counts({ bounced: 1 }))
  })

  test('messages or multiparts nested 1,000 levels deep are not reports and crash nothing', async () => {
    const nest = (type: string) =>
      Array.from({ length: 1000 }, (_, i) => `Content-Type: ${type}; boundary=b${i}\r\n\r\n--b${i}\r\n`).join('')
    const head = 'From: x@people.dev\r\nMIME-Version: 1.0\r\n'
    expect(await within(10_000, head + nest('multipart/mixed'))).toEqual(counts({ unmatched: 1 }))
    expect(await within(10_000, head + 'Content-Type: message/rfc822\r\n\r\n'.repeat(1000))).toEqual(
      counts({ unmatched: 1 }),
    )
    const message = await about()
    const deep = postfix(message).replace(
      /Content-Type: message\/rfc822\r\n/,
      `Content-Type: message/rfc822\r\n\r\n${nest('multipart/mixed')}`,
    )
    expect((await within(10_000, deep)).read).toBe(1)
  })

  test.each([
    ['a million parts', () => `Content-Type: multipart/report; boundary=b\r\n\r\n${'--b\r\n'.repeat(1_000_000)}`],
    [
      'a recipient of a megabyte',
      () => `To: ${'+msg_'.repeat(200_000)}\r\nContent-Type: message/delivery-status\r\n\r\nAction: failed\r\n`,
    ],
    [
      'a status of blanks',
      () =>
        `Content-Type: message/delivery-status\r\n\r\nAction: failed\r\nStatus: ${' '.repeat(500_000)}${'\r\n '.repeat(100_000)}\r\n`,
    ],
  ])('%s take no longer than other reports', async (_, text) => {
    expect(await within(5000, text())).toEqual(counts({ unmatched: 1 }))
  })
})

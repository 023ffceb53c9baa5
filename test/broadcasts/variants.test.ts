import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  BroadcastChanges,
  copyBroadcast,
  createBroadcast,
  NewBroadcast,
  pauseBroadcast,
  sendBroadcast,
  showBroadcastInDetail,
  testBroadcast,
  updateBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { foldResults } from '../../src/results/fold.ts'
import type { Work } from '../../src/store/work.ts'
import { useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { svc } from '../support/cli.ts'
import { useSink } from '../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url }, development: true }))

const run = <T>({ account }: Audience, operation: (work: Work) => Promise<T>) =>
  t.app.work(account.id, 'cli:test', operation)
const draft = (who: Audience, more: object) =>
  run(who, (work) => createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring', ...more })))
const show = (who: Audience, id: string) => run(who, (work) => showBroadcastInDetail(work, id))
const step = (who: Audience, id: string) => run(who, (work) => advanceBroadcast(t.app, work, id))
const steps = async (who: Audience, id: string) => {
  let last = null
  do last = await step(who, id)
  while (last?.isMore)
  return last
}
const send = (who: Audience, id: string) => run(who, (work) => sendBroadcast(t.app, work, id))

const hash = (email: string) => createHash('md5').update(email).digest()
const variantOf = (email: string, count: number) => hash(email).readUInt32BE(0) % count
const isInShare = (email: string, share: number) => hash(email).readUInt32BE(4) % 100 < share

interface Sent {
  id: string
  email: string
  subject: string
}
const messages = ({ account }: Audience, id: string) =>
  t.app.sql<Sent>(
    `select id, email, subject from messages where account_id = $1 and key like 'broadcast:' || $2 || ':%' order by email`,
    [account.id, id],
  )
/** Ends the queued messages as sent. */
const deliver = async ({ account }: Audience) => {
  await t.app.sql(
    `update messages set status = 'sent', finished_at = svc_now() where account_id = $1 and status = 'pending'`,
    [account.id],
  )
  await t.app.sql('delete from message_queue where account_id = $1', [account.id])
}
/** Records what people did, as the results count it. */
const act = (who: Audience, id: string, metric: string, emails: readonly string[]) =>
  t.app.sql(
    `insert into message_result_changes (account_id, project_id, cause, day, metric, count, email)
     select $1, $2, $3, svc_now()::date, $4, 1, e from unnest($5::text[]) e`,
    [who.account.id, who.projectId, id, metric, emails],
  )

test('each recipient gets the subject that follows from the address, whichever process queues it', async () => {
  const who = await audience(t, 1200)
  const subjects = ['One', 'Two for {{ name }}', 'Three']
  const { id } = await draft(who, { subject: subjects })
  await send(who, id)
  await steps(who, id)
  const sent = await messages(who, id)
  expect(sent).toHaveLength(1200)
  for (const { email, subject } of sent)
    expect(subject).toBe(subjects[variantOf(email, 3)]!.replace('{{ name }}', `N${/\d+/.exec(email)![0]}`))
  for (const subject of ['One', 'Three'])
    expect(Math.abs(sent.filter((one) => one.subject === subject).length - 400)).toBeLessThan(100)
  await deliver(who)
  const [first] = sent
  await act(who, id, 'clicked', [first!.email])
  const { variants, winner } = await show(who, id)
  expect(winner).toBeNull()
  expect(variants!.map(({ subject }) => subject)).toEqual(subjects)
  expect(variants!.reduce((sum, one) => sum + one.sent, 0)).toBe(1200)
  expect(variants![variantOf(first!.email, 3)]).toMatchObject({ opened: 1, clicked: 1, answered: 0 })
})

test('a share gets variants, and after the time the rest gets the one with the best rate; everybody one email', async () => {
  const who = await audience(t, 1500)
  const { id } = await draft(who, { subject: ['A', 'B'], share: 20, winner: 'clicked', after: '4h' })
  await send(who, id)
  await steps(who, id)
  const share = await messages(who, id)
  expect(share.every(({ email, subject }) => isInShare(email, 20) && subject === 'AB'[variantOf(email, 2)])).toBe(true)
  expect(share.length).toBe(
    Array.from({ length: 1500 }, (_, n) => `c${n}@people.example`).filter((email) => isInShare(email, 20)).length,
  )
  await deliver(who)
  const [a, b] = ['A', 'B'].map((subject) => share.filter((one) => one.subject === subject).map(({ email }) => email))
  await act(who, id, 'opened', a!)
  await act(who, id, 'clicked', b!.slice(0, 3))
  await act(who, id, 'clicked', a!.slice(0, 1))
  await foldResults(t.app)
  await act(who, id, 'clicked', b!.slice(2, 5))
  await t.advance(4 * 3_600_000 - 60_000)
  expect(await steps(who, id)).toMatchObject({ isMore: false, waitMs: expect.any(Number) })
  expect(await messages(who, id)).toHaveLength(share.length)
  expect(await show(who, id)).toMatchObject({ status: 'sending', winner: null })
  const shown = (extra: object) => svc(t, ['broadcasts', 'show', id, '--account', who.account.id, '--no-color'], extra)
  expect((await shown({ tty: {} })).text).toMatch(/winner +the most clicked, 4 h after the first 20 %/)
  expect((await shown({})).stdout).not.toContain('the most clicked')
  await t.advance(120_000)
  await steps(who, id)
  const all = await messages(who, id)
  expect(all).toHaveLength(1500)
  expect(new Set(all.map(({ email }) => email)).size).toBe(1500)
  expect(all.filter(({ email }) => !isInShare(email, 20)).every(({ subject }) => subject === 'B')).toBe(true)
  await deliver(who)
  expect(await show(who, id)).toMatchObject({
    winner: 'B',
    variants: [
      { subject: 'A', sent: a!.length, opened: a!.length, clicked: 1 },
      { subject: 'B', sent: 1500 - a!.length, opened: 5, clicked: 5 },
    ],
  })
})

test('a tie is won by the first subject; a pause does not shorten the wait', async () => {
  const who = await audience(t, 300)
  const { id } = await draft(who, { subject: ['A', 'B', 'C'], share: 30, winner: 'opened', after: '1h' })
  await send(who, id)
  await steps(who, id)
  await run(who, (work) => pauseBroadcast(work, id))
  await t.advance(3_600_000)
  expect(await step(who, id)).toBeNull()
  await t.app.sql('update broadcasts set paused_at = null where id = $1', [id])
  await steps(who, id)
  expect((await show(who, id)).winner).toBe('A')
  expect(await messages(who, id)).toHaveLength(300)
})

test('test sends each subject; update and copy keep what they do not name; impossible combinations are refused', async () => {
  const who = await audience(t, 3)
  const { id } = await draft(who, { subject: ['A', 'B'], share: 20, winner: 'opened', after: '4h' })
  const tested = await testBroadcast(t.app, who.account.id, 'cli:test', id, 'boss@shop.example')
  expect(tested).toMatchObject({ status: 'sent', variants: [{ subject: 'A' }, { subject: 'B' }] })
  expect(sink.mails.map((mail) => mail.header('subject'))).toEqual(['[Test] A', '[Test] B'])
  const update = (changes: object) => run(who, (work) => updateBroadcast(work, id, BroadcastChanges.parse(changes)))
  const contest = async (of: string) => {
    const [row] = await t.app.sql<{ variants: unknown }>('select variants from broadcasts where id = $1', [of])
    return row!.variants
  }
  await update({ share: 50 })
  const kept = { subjects: ['A', 'B'], contest: { share: 50, by: 'opened', afterMs: 4 * 3_600_000 } }
  expect(await contest(id)).toEqual(kept)
  const copy = await run(who, (work) => copyBroadcast(work, id, 'Copy'))
  expect(await contest(copy.id)).toEqual(kept)
  await update({ after: '1h30m' })
  expect(await contest(id)).toEqual({ ...kept, contest: { ...kept.contest, afterMs: 1.5 * 3_600_000 } })
  expect(await update({ subject: 'Only' })).toMatchObject({ subject: 'Only' })
  expect(await contest(id)).toBeNull()
  expect(await update({ subject: null })).toMatchObject({ subject: 'Spring' })
  for (const input of [
    { subject: ['A', 'B'], share: 20 },
    { subject: ['A', 'A'] },
    { subject: 'A', share: 20, winner: 'opened', after: '1h' },
    { subject: ['A', 'B'], share: 20, winner: 'opened', after: '60d' },
  ])
    await expect(draft(who, input)).rejects.toMatchObject({ kind: 'invalid' })
  for (const input of [{ subject: ['1', '2', '3', '4', '5'] }, { share: 100 }, { winner: 'best' }])
    expect(() => NewBroadcast.parse({ list: 'People', project: 'Spring', ...input })).toThrow()
})

test('once a broadcast has ended, the numbers of sent emails are kept, and people are counted as they come', async () => {
  const who = await audience(t, 300)
  const { id } = await draft(who, { subject: ['A', 'B', 'C'] })
  await send(who, id)
  await steps(who, id)
  const sent = await messages(who, id)
  const [failed, ...others] = sent
  await t.app.sql(`update messages set status = 'failed' where id = $1`, [failed!.id])
  await deliver(who)
  await t.app.sql(
    `insert into message_tallies (account_id, batch, status, count) values ($1, $2, 'sent', 299), ($1, $2, 'failed', 1)`,
    [who.account.id, id],
  )
  const before = await show(who, id)
  expect(before.status).toBe('sending')
  await step(who, id)
  const counts = ['A', 'B', 'C'].map((subject) => ({
    subject,
    sent: others.filter((one) => one.subject === subject).length,
    ...{ opened: 0, clicked: 0, answered: 0 },
  }))
  expect(before.variants).toEqual(counts)
  expect(await show(who, id)).toMatchObject({ status: 'done', variants: counts })
  // The messages are not counted again.
  await t.app.sql(`update messages set email = '' where account_id = $1 and id <> $2`, [who.account.id, others[0]!.id])
  await act(who, id, 'opened', [others[0]!.email])
  await foldResults(t.app)
  await act(who, id, 'clicked', [others[0]!.email, others[1]!.email])
  const { variants } = await show(who, id)
  expect(variants!.map(({ sent }) => sent)).toEqual(counts.map((one) => one.sent))
  const [first, second] = [variantOf(others[0]!.email, 3), variantOf(others[1]!.email, 3)]
  for (const [i, one] of variants!.entries())
    expect([one.opened, one.clicked]).toEqual(Array(2).fill(Number(first === i) + Number(second === i)))
})

test('a broadcast without variants keeps no such numbers', async () => {
  const who = await audience(t, 2)
  const { id } = await draft(who, { subject: ['A'] })
  await send(who, id)
  await steps(who, id)
  expect(await t.app.sql('select variant_sent as sent from broadcasts where id = $1', [id])).toEqual([{ sent: null }])
})

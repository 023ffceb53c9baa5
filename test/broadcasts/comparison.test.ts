import { expect, test } from 'vitest'
import { createBroadcast, NewBroadcast, resultsOfBroadcast } from '../../src/broadcasts/broadcasts.ts'
import type { Work } from '../../src/store/work.ts'
import { ok, useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'

const t = useApp({ development: true })

const run = <T>({ account }: Audience, operation: (work: Work) => Promise<T>) =>
  t.app.work(account.id, 'cli:test', operation)
const resultsIn = (who: Audience, id: string) => run(who, (work) => resultsOfBroadcast(work, id))

const draft = async (who: Audience, name: string) =>
  (await run(who, (work) => createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring', name })))).id

interface Counted {
  sent: number
  bounced?: number
  opened?: number
  clicked?: number
}

/** Makes a broadcast that was sent on a day of November, with its results. */
const sent = async (who: Audience, day: number, counted: Counted, isOver = true) => {
  const id = await draft(who, `Day ${day}`)
  const at = new Date(Date.UTC(2026, 10, day))
  await t.app.sql(`update broadcasts set status = $2, sent = $3, started_at = $4, finished_at = $5 where id = $1`, [
    id,
    isOver ? 'done' : 'sending',
    counted.sent,
    at,
    isOver ? at : null,
  ])
  await t.app.sql(
    `insert into message_results (account_id, scope, day, metric, link, since, url, count)
     select $1, $2, $3::timestamptz::date, key, '', '-infinity', '', value::int from jsonb_each_text($4) where value <> '0'`,
    [who.account.id, id, at, counted],
  )
  return id
}

const none = { opened: null, clicked: null, answered: null, unsubscribed: null, bounced: null, complained: null }

test('the rates of a broadcast stand beside the average of the rates of the last five that ended before it', async () => {
  const who = await audience(t, 1)
  const first = await sent(who, 1, { sent: 100, opened: 100 })
  expect(await resultsIn(who, first)).toMatchObject({
    stats: { sent: 100 },
    rates: { opened: 1, clicked: 0, answered: 0, unsubscribed: 0, bounced: 0, complained: 0 },
    average: null,
  })
  await sent(who, 2, { sent: 1000, opened: 100, bounced: 200 })
  await sent(who, 3, { sent: 10, opened: 5 })
  await sent(who, 4, { sent: 10, opened: 2, clicked: 2 })
  await sent(who, 5, { sent: 0 })
  await sent(who, 6, { sent: 10, opened: 10 }, false)
  await sent(who, 7, { sent: 10 })
  // Nothing was delivered: the other rates are unknown.
  await sent(who, 8, { sent: 10, bounced: 10 })
  const last = await sent(who, 9, { sent: 10, opened: 3 })
  await sent(who, 10, { sent: 10, opened: 10 })
  const { rates, average } = await resultsIn(who, last)
  expect(rates).toMatchObject({ opened: 0.3, clicked: 0 })
  expect(average).toEqual({
    broadcasts: 5,
    opened: (0.125 + 0.5 + 0.2 + 0) / 4,
    clicked: 0.2 / 4,
    answered: 0,
    unsubscribed: 0,
    bounced: (0.2 + 1) / 5,
    complained: 0,
  })
  const unsent = await draft(who, 'Unsent')
  expect(await resultsIn(who, unsent)).toMatchObject({ rates: none, average: { broadcasts: 5, opened: 1.5 / 4 } })
})

test('broadcasts of other accounts do not count', async () => {
  await sent(await audience(t, 1), 1, { sent: 10, opened: 10 })
  const who = await audience(t, 1)
  expect((await resultsIn(who, await sent(who, 2, { sent: 10 }))).average).toBeNull()
})

test('GET /broadcasts/:id has them as well', async () => {
  const who = await audience(t, 1)
  await sent(who, 1, { sent: 10, opened: 5 })
  const id = await sent(who, 2, { sent: 10, opened: 1 })
  const { body } = await ok(t.request('GET', `/broadcasts/${id}`, { key: who.account.key }))
  expect(body.broadcast).toMatchObject({ rates: { opened: 0.1 }, average: { broadcasts: 1, opened: 0.5 } })
})

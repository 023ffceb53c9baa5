import { createList, listContacts } from '../../src/contacts/contacts.ts'
import { countSegment, createSegment, narrow } from '../../src/segments/segments.ts'
import { fill } from './lookup.ts'
import { type Bench, below, benchAccount, median, percentile, type Row, timed } from './support.ts'

const rounds = 5
const pages = 100
const pageSize = 50
/** The number of rows that one statement creates. */
const step = 1_000_000

/** Filters of fields, and with engagement, each with the number of seconds that its count may take with 1,000,000 contacts. */
const counted: readonly [name: string, where: string, seconds: number][] = [
  ['a field', 'plan = pro', 1],
  ['fields', '(plan = pro or city ~ "city 1") and not first_name is empty and domain = example.org', 1],
  ['a number, a date and a sample', '(plan = 7 or city < today) and sample < 50', 1],
  ['opened', 'opened < 30d', 3],
  ['fields with engagement', 'plan = pro and (opened > 30d or not clicked < 90d)', 3],
  ['a link', 'link ~ "/offer"', 3],
  ['an answer', 'answer.q = Yes', 3],
  ['an answer in a project', 'not answer.q in Welcome in (Yes, No)', 3],
  ['suppression', 'suppression is empty', 3],
  ['an event', 'event.upgraded < 30d', 3],
  ['another list', 'list = other', 3],
  ['a segment of another list', 'segment = Openers', 3],
  ['verification and sent', 'verification != invalid and sent in Welcome < 30d', 3],
]

/** Filters of pages, read one after the other. */
const paged: readonly [name: string, where: string][] = [
  ['of a field', 'plan = pro'],
  ['with engagement', 'plan = pro and not opened < 30d'],
  ['with an answer', 'plan = pro and answer.q = Yes'],
  ['with another list', 'plan = pro and list = other'],
  ['with a segment', 'plan = pro and not segment = Openers'],
]

/**
 * Counts and pages of a list with `size` contacts, each of whom got an email of three and did something with one of three. A writer
 * changes contacts of the same list during the counts.
 */
export const bench = async (b: Bench, size = 1_000_000): Promise<Row[]> => {
  const app = await b.app({}, { queue: false })
  const account = await benchAccount(app)
  const fields = ['first_name', 'last_name', 'city', 'plan']
  const list = await app.work(account.id, 'cli:bench', (work) => createList(work, { name: 'bench', fields }))
  for (let from = 0; from < size; from += step)
    await fill(app.database, account.id, list.id, from, Math.min(from + step, size))
  await app.sql(
    `update contacts set fields = fields || '{"plan": "free", "city": "City 17"}' where account_id = $1 and right(row_id, 1) >= '3'`,
    [account.id],
  )
  await app.sql('vacuum full contacts')
  await app.sql(
    `insert into projects (id, account_id, name, version, created_at, updated_at) values ('prj_1', $1, 'Welcome', 1, now(), now())`,
    [account.id],
  )
  await app.sql(
    `insert into messages (account_id, id, source_kind, type, email, subject, project_id, project_version, merge_data, status, created_at, finished_at)
     select $1, 'msg_' || row_id, 'send', 'marketing', email, 'Welcome', 'prj_1', 1, fields, 'sent', at, at
     from (select *, now() - random() * interval '180 days' as at from contacts where account_id = $1) c where random() < 0.33`,
    [account.id],
  )
  await app.sql(
    `insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
     select account_id, id, k.kind, k.block, '', false, id || k.kind, project_id, email, k.value::jsonb, created_at
     from messages cross join (values
       ('open', '', 'null'), ('click', '', '"https://shop.example/offer"'), ('vote', 'q', '"Yes"')
     ) as k(kind, block, value) where account_id = $1 and random() < 0.5`,
    [account.id],
  )
  const other = await app.work(account.id, 'cli:bench', (work) => createList(work, { name: 'other' }))
  await app.sql(
    `insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
     select account_id, row_id, $2, email, '{}', 'active', now(), now() from contacts where account_id = $1 and random() < 0.3`,
    [account.id, other.id],
  )
  await app.sql(
    `insert into suppressions (account_id, email, reason, created_at)
     select account_id, email, 'unsubscribed', now() from contacts where account_id = $1 and list_id = $2 and random() < 0.1`,
    [account.id, list.id],
  )
  await app.sql(
    `insert into activities (account_id, id, email, name, at)
     select account_id, 'act_' || row_id, email, 'upgraded', now() - random() * interval '90 days'
     from contacts where account_id = $1 and list_id = $2 and random() < 0.3`,
    [account.id, list.id],
  )
  await app.sql('vacuum analyze')
  await app.work(account.id, 'cli:bench', (work) =>
    createSegment(work, { name: 'Openers', list: 'other', where: 'opened < 90d' }),
  )
  const rows: Row[] = []
  const millions = size / 1_000_000
  const work = <T>(run: Parameters<typeof app.work<T>>[2]) => app.work(account.id, 'cli:bench', run)
  const writes: number[] = []
  for (const [name, where, seconds] of counted) {
    const times: number[] = []
    for (let i = 0; i < rounds; i++) {
      let isCounted = false
      const count = timed(() => work((w) => countSegment(w, { listId: list.id, where } as never))).finally(() => {
        isCounted = true
      })
      while (!isCounted)
        writes.push(
          await timed(() =>
            app.sql('update contacts set updated_at = now() where account_id = $1 and row_id = $2', [
              account.id,
              `row_${String(Math.floor(Math.random() * size)).padStart(26, '0')}`,
            ]),
          ),
        )
      times.push((await count) / 1000)
    }
    rows.push(below(`count: ${name}`, 's', median(times), Number((seconds * Math.max(millions, 0.1)).toFixed(2))))
  }
  rows.push(below('a write beside the counts, p99', 'ms', percentile(writes, 99), 50))
  for (const [name, where] of paged) {
    const selected = await work((w) => narrow(w, { list: list.id, where }))
    const times: number[] = []
    let cursor: string | undefined
    for (let i = 0; i < pages; i++)
      times.push(
        await timed(async () => {
          const page = await work((w) => listContacts(w, { ...selected, cursor, limit: pageSize }))
          cursor = page.nextCursor ?? undefined
        }),
      )
    rows.push(below(`page ${name}, p50`, 'ms', percentile(times, 50), 20))
  }
  return rows
}

import type { World } from './world.ts'

/* Damage that the product never causes. A test verifies that the checks detect each kind. */

const sql =
  (statement: string) =>
  ({ app }: World): unknown =>
    app.sql(statement)

export interface Sabotage {
  name: string
  /** The violation that must be found. */
  finding: RegExp
  run(world: World): unknown
}

export const sabotages: readonly Sabotage[] = [
  {
    name: 'lose a contact',
    finding: /^contacts missing, 1/,
    run: sql(`delete from contacts where ctid in (select ctid from contacts limit 1)`),
  },
  {
    name: 'lose a field',
    finding: /^contacts wrong, 1/,
    run: sql(
      `update contacts set fields = '{}' where ctid in (select ctid from contacts where fields <> '{}' limit 1)`,
    ),
  },
  {
    name: 'miscount a list',
    finding: /^the list pool counts/,
    run: sql(`update contact_lists set row_count = row_count + 1 where name = 'pool'`),
  },
  {
    name: 'miscount a quota',
    finding: /calls of POST \/send are counted/,
    run: sql(`update quota_uses set used = used + 1 where quota = 'sendApiCalls'`),
  },
  {
    name: 'lose an event',
    finding: /^events missing, 1/,
    run: sql(`delete from events where id = (select min(id) from events)`),
  },
  {
    name: 'lose a mail',
    finding: /is sent .* and arrived 0 times/,
    run: ({ sink }) => sink.mails.shift(),
  },
  {
    name: 'send a mail twice',
    finding: /arrived 2 times/,
    run: ({ sink }) => sink.mails.push(sink.mails[0]!),
  },
  {
    name: 'post another body',
    finding: /came with another body/,
    run({ receiver: { requests } }) {
      const post = requests.findLast(({ path }) => path === '/hook')!
      requests.push({ ...post, body: Buffer.concat([post.body, Buffer.from(' ')]) })
    },
  },
  {
    name: 'move a deal',
    finding: /^deals wrong, 1/,
    run: sql(`update deals set title = 'Other' where ctid in (select ctid from deals limit 1)`),
  },
  {
    name: 'free a seat',
    finding: /^the webinar \w+ counts/,
    run: sql(`update webinars set registered_count = registered_count + 1`),
  },
  {
    name: 'leave an account that moved away',
    finding: /^the account that moved away is still here/,
    run: ({ app, away }) =>
      app.sql(`insert into accounts (id, name, plan, created_at) values ($1, 'Mover', 'unlimited', now())`, [
        away.accountId,
      ]),
  },
]

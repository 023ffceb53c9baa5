import { Migration20261123231200_message_results as Counting } from '../../migrations/Migration20261123231200_message_results.ts'
import { Migration20261129120000_news_of_people as NewsOfPeople } from '../../migrations/Migration20261129120000_news_of_people.ts'
import { foldResults } from '../../src/results/fold.ts'
import { resultsOf } from '../../src/results/results.ts'
import { readStats } from '../../src/stats/stats.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { plainProject } from '../support/projects.ts'
import { type Bench, below, benchAccount, median, type Row, timed } from './support.ts'

const rounds = 11
const answerMs = 500
const countSeconds = 120
const waiting = 60_000
const fail = (error: unknown): never => {
  throw error
}
const [broadcast, journey] = ['bct_1', 'jrn_1']

/**
 * Shows results of `size` messages to half as many people, two thirds of whom opened, over 401 days. The migration counts them, as at
 * an upgrade. Then it shows them with 60,000 changes that are not added up yet.
 */
export const bench = async (b: Bench, size = 1_000_000): Promise<Row[]> => {
  const app = await b.app({}, { queue: false })
  const account = await benchAccount(app)
  const text = [0, 1, 2, 3, 4].map((link) => `[${link}](https://example.com/${link})`).join(' ')
  const file = { ...plainProject('Spring'), blocks: [{ id: 'links', type: 'text', props: { text } }] }
  const [project] = await app.work(account.id, 'cli:bench', (work) => applyProjects(work, [file as never]))
  const work = <T>(run: Parameters<typeof app.work<T>>[2]) => app.work(account.id, 'cli:bench', run)
  const client = await app.database.connect()
  // A fifth belongs to a journey, the rest to ten broadcasts, of which the first has half.
  await client.query(
    `insert into messages (account_id, id, key, source_kind, source_id, type, email, subject, project_id, project_version, merge_data, status, created_at, finished_at)
     select $1, 'msg_' || lpad(n::text, 10, '0'), case when n % 5 > 0 then 'broadcast:' || case when n % 2 = 0 then $3 else 'bct_' || 2 + n % 9 end || ':' || n end,
       case when n % 5 = 0 then 'journey' else 'send' end, case when n % 5 = 0 then $4 end, 'marketing', 'c' || n % $5 || '@people.example',
       'Spring', $2, 1, '{}', case when n % 50 = 0 then 'failed' else 'sent' end, at, at
     from generate_series(0, $6 - 1) n, lateral (select svc_now() - n % 401 * interval '1 day') t(at)`.replaceAll(
      /\$([56])/g,
      '$$$1::int',
    ),
    [account.id, project!.id, broadcast, journey, size / 2, size],
  )
  await client.query(
    `insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
     select $1, m.id, k.kind, '', k.link, false, 'int_' || m.id || k.kind, m.project_id, m.email, to_jsonb('https://example.com/' || k.link), m.finished_at
     from (select m.*, substr(m.id, 5)::int as n from messages m where m.account_id = $1) m
     cross join lateral (values ('open', '', n < $2 * 0.33 or n >= $2 * 0.5 and n < $2 * 0.58), ('click', (n % 5)::text, n < $2 * 0.09)) k(kind, link, is_done)
     where k.is_done`.replaceAll('$2', '$2::int'),
    [account.id, size],
  )
  await client.query('analyze')
  await client.query('begin; drop table message_results, message_result_changes, message_people')
  const migrations = [Counting, NewsOfPeople].map((Later) => new Later(undefined as never, undefined as never))
  for (const migration of migrations) migration.up()
  const ms = await timed(async () => {
    for (const query of migrations.flatMap((one) => one.getQueries())) await client.query(String(query))
    await client.query('commit')
  })
  await client.query('vacuum analyze')
  await client.end()
  const rows = [below('the migration counts the messages', 's', ms / 1000, (countSeconds * size) / 1_000_000)]
  const shown: [name: string, run: () => Promise<unknown>][] = [
    ['broadcasts show', () => work((w) => resultsOf(w, broadcast))],
    ['journeys show --stats', () => work((w) => resultsOf(w, journey))],
    ['projects show --stats', () => work((w) => resultsOf(w, project!.id!))],
    ['stats --days 30', () => work((w) => readStats(w, 30))],
    ['stats --days 366', () => work((w) => readStats(w, 366))],
  ]
  const measure = async (state: string) => {
    for (const [name, run] of shown) {
      const times: number[] = []
      for (let i = 0; i < rounds; i++) times.push(await timed(run))
      rows.push(below(`${name}${state}, median`, 'ms', median(times), answerMs))
    }
  }
  await measure('')
  // A third are emails that were sent, the others opens of people who opened before, and of others.
  await app.sql(
    `insert into message_result_changes (account_id, project_id, cause, day, metric, count, email, url)
     select $1, $2, $3, (svc_now() at time zone 'UTC')::date, case n % 3 when 0 then 'sent' when 1 then 'opened' else 'clicked' end, 1,
       case when n % 3 > 0 then 'c' || n * 7 % $5::int || '@people.example' end, case when n % 3 = 2 then 'https://example.com/' || n % 5 end
     from generate_series(1, $4::int) n`,
    [account.id, project!.id, broadcast, waiting, size / 2],
  )
  await measure(`, ${waiting.toLocaleString('en')} changes not added up`)
  rows.push(below('they are added up', 's', (await timed(() => foldResults(app, undefined, fail))) / 1000, 60))
  await measure(', added up')
  return rows
}

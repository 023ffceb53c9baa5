import { type RowOf, typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { foldPerson } from './fold.ts'
import { messagePeople } from './results.columns.ts'
import { type PersonMetric, personMetrics } from './results.rows.ts'

/*
 * Corrections of the numbers of people: a person was erased, or withdrew an answer. What a person's rows count for is computed
 * before and after, and the difference is added to the results.
 */

const rowColumns = `scope, link, ${personMetrics.map((metric) => `${metric}::text as ${metric}`).join(', ')}`
const rowTypes = {
  ...types(messagePeople, 'scope', 'link'),
  opened: 'text?',
  clicked: 'text?',
  answered: 'text?',
  unsubscribed: 'text?',
} as const

/** The days on which a person was counted. `scope` is a project, a broadcast, a journey, or a UTC day of the account. */
type PersonRow = RowOf<typeof rowTypes>

interface Change {
  scope: string
  link: string
  day: string
  since: string
  metric: PersonMetric
  count: number
}

const isDay = (scope: string): boolean => scope < ':'
const noDay = '-infinity'

/** Returns the changes that added a person with these rows. */
const changesOf = (rows: readonly PersonRow[]): Change[] => {
  const changes: Change[] = []
  const last = new Map<string, string>()
  for (const row of rows.toSorted((a, b) => (a.scope < b.scope ? -1 : 1)))
    for (const metric of personMetrics) {
      const day = row[metric]
      if (day === null) continue
      const { scope, link } = row
      if (!isDay(scope)) {
        changes.push({ scope, link, day, since: noDay, metric, count: 1 })
        continue
      }
      const chain = `${metric} ${link}`
      changes.push({ scope: '', link, day, since: last.get(chain) ?? noDay, metric, count: 1 })
      last.set(chain, day)
    }
  return changes
}

/** Returns the changes that lead from the rows `before` to the rows `after`. */
const difference = (before: readonly PersonRow[], after: readonly PersonRow[]): Change[] => {
  const byKey = new Map<string, Change>()
  for (const [sign, rows] of [[-1, before] as const, [1, after] as const])
    for (const change of changesOf(rows)) {
      const { scope, link, day, since, metric } = change
      const sum = byKey.getOrInsertComputed([scope, link, day, since, metric].join(' '), () => ({
        ...change,
        count: 0,
      }))
      sum.count += sign
    }
  return [...byKey.values()].filter(({ count }) => count !== 0)
}

const lockRows = statement(
  'lock-results-of-person',
  { row: rowTypes, parameters: { accountId: 'text', email: 'text' } },
  `select ${rowColumns} from message_people where account_id = :accountId and email = :email for update`,
)

const deleteRows = statement(
  'erase-results-of-person',
  { row: rowTypes, parameters: { accountId: 'text', email: 'text' } },
  `delete from message_people where account_id = :accountId and email = :email returning ${rowColumns}`,
)

const writeRows = statement(
  'write-results-of-person',
  { parameters: { accountId: 'text', email: 'text', after: 'jsonb' } },
  `with given as materialized (
     select * from jsonb_to_recordset(:after::jsonb) as g(scope text, opened date, clicked date, answered date, unsubscribed date)
   ), empty as (
     delete from message_people p using given g
     where p.account_id = :accountId and p.email = :email and p.scope = g.scope and p.link = ''
       and coalesce(g.opened, g.clicked, g.answered, g.unsubscribed) is null
   )
   insert into message_people (account_id, email, scope, link, opened, clicked, answered, unsubscribed)
   select :accountId, :email, scope, '', opened, clicked, answered, unsubscribed from given g
   where coalesce(g.opened, g.clicked, g.answered, g.unsubscribed) is not null
   on conflict (account_id, email, scope, link) do update
   set opened = excluded.opened, clicked = excluded.clicked, answered = excluded.answered, unsubscribed = excluded.unsubscribed`,
)

const addResults = statement(
  'correct-results',
  { parameters: { accountId: 'text', changes: 'jsonb' } },
  `insert into message_results (account_id, scope, link, day, since, metric, count)
   select :accountId, c.scope, c.link, c.day, c.since, c.metric, c.count
   from jsonb_to_recordset(:changes::jsonb) as c(scope text, link text, day date, since date, metric text, count int)
   order by c.scope, c.day, c.metric, c.link, c.since
   on conflict (account_id, scope, day, metric, link, since) do update set count = message_results.count + excluded.count`,
)

const change = async ({ sql, accountId }: Work, changes: readonly Change[]): Promise<void> => {
  if (changes.length > 0) await sql(addResults, { accountId, changes: JSON.stringify(changes) })
}

/** Deletes what the results store about an address. The person is not counted any more; messages and clicks are. */
export const erasePerson = async (work: Work, email: string): Promise<void> => {
  await foldPerson(work, email)
  await change(work, difference(await work.sql(deleteRows, { accountId: work.accountId, email }), []))
}

/** The columns of a `RecipientAction`. */
export const recipientAction = {
  day: 'text',
  projectId: 'text',
  /** The broadcast or journey. It is null if there is none. */
  cause: 'text?',
  kind: typed<'opened' | 'clicked' | 'answered'>('text'),
} as const

/** What a person did with a message, on a UTC day. */
type RecipientAction = RowOf<typeof recipientAction>

/**
 * Counts a person again after an answer was withdrawn or changed on a later day: in the account and in `scopes`, the project and the
 * cause of its message. `readActions` returns everything that the person has done.
 */
export const recountPerson = async (
  work: Work,
  email: string,
  scopes: readonly string[],
  readActions: () => Promise<readonly RecipientAction[]>,
): Promise<void> => {
  const { sql, accountId } = work
  await foldPerson(work, email)
  const before = await sql(lockRows, { accountId, email })
  const counted = new Map<string, PersonRow>()
  const isRecounted = ({ scope, link }: Pick<PersonRow, 'scope' | 'link'>) =>
    link === '' && (isDay(scope) || scopes.includes(scope))
  const rowOf = (scope: string, unsubscribed: string | null = null) =>
    counted.getOrInsertComputed(scope, () => ({
      scope,
      link: '',
      opened: null,
      clicked: null,
      answered: null,
      unsubscribed,
    }))
  for (const row of before) if (isRecounted(row)) rowOf(row.scope, row.unsubscribed)
  for (const { day, projectId, cause, kind } of (await readActions()).toSorted((a, b) => (a.day < b.day ? -1 : 1)))
    for (const scope of [day, projectId, cause]) {
      if (scope === null || !isRecounted({ scope, link: '' })) continue
      const row = rowOf(scope)
      row.opened ??= day
      row[kind] ??= day
    }
  const after = [...counted.values()]
  await sql(writeRows, { accountId, email, after: JSON.stringify(after) })
  await change(work, difference(before.filter(isRecounted), after))
}

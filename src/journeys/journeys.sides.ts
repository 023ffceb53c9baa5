import { actionsOn } from '../engagement/engagement.rows.ts'
import { pathText } from '../lib/file-faults.ts'
import { messageOfKey } from '../messages/messages.rows.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql } from '../store/work.ts'
import type { Step } from './definition/definition.schema.ts'
import type { Side } from './definition/walk.ts'
import { stepsOf } from './files/files.ts'
import type { JourneyDetail } from './journeys.find.ts'
import { summaryOf } from './journeys.tree.ts'

const counted = {
  version: 'int4',
  /** `steps[2]` */
  step: 'text',
  kind: typed<'branch' | 'split' | 'wait-for'>('text'),
  side: typed<Side>('text'),
  /** Runs that took the side. */
  runs: 'int8',
  /** Emails of the steps in it, and the people who did something with them. */
  sent: 'int8',
  opened: 'int8',
  clicked: 'int8',
  answered: 'int8',
} as const

/**
 * What became of a side of a `branch`, a `split` or a `wait-for`, in the newest runs that the journey still has. The summary is empty for
 * a version whose definition was deleted.
 */
type SideResults = RowOf<typeof counted> & { summary: string }

type Fork = Pick<SideResults, 'version' | 'step' | 'kind' | 'summary'>

// The outcome of a `wait-for` is a sentence (steps.control.ts). `offset 0` keeps the planner from a join that reads the log of all runs.
const countSides = statement(
  'count-sides-of-journey',
  {
    row: counted,
    parameters: { accountId: 'text', journeyId: 'text', most: 'int8' },
  },
  `with newest as materialized (
     select id, version from journey_runs where account_id = :accountId and journey_id = :journeyId order by id desc limit :most
   ), done as materialized (
     select r.version, l.run_id, l.step_no, l.step, l.kind, case when l.kind <> 'wait-for' then l.outcome
       when l.outcome like '% came' then 'then' when l.outcome like 'no %' then 'else' end as side
     from newest r cross join lateral (
       select * from journey_step_log s where s.account_id = :accountId and s.run_id = r.id
         and s.kind in ('branch', 'split', 'wait-for', 'send-email') offset 0
     ) l
   ), mail as materialized (
     select d.run_id, d.step, m.email, a.opened, a.clicked, a.answered
     from done d cross join lateral ${messageOfKey(':accountId', `'run:' || d.run_id || ':' || d.step_no`)} m
       cross join lateral ${actionsOn(':accountId', 'm.id')} a
     where d.kind = 'send-email' and m.status = 'sent'
   )
   select d.version, d.step, d.kind, d.side, count(distinct d.run_id) as runs, count(m.run_id) as sent,
     count(distinct m.email) filter (where m.email <> '' and m.opened) as opened,
     count(distinct m.email) filter (where m.email <> '' and m.clicked) as clicked,
     count(distinct m.email) filter (where m.email <> '' and m.answered) as answered
   from done d left join mail m on m.run_id = d.run_id and starts_with(m.step, d.step || '.' || d.side || '[')
   where d.side in ('then', 'else', 'a', 'b') group by d.version, d.step, d.kind, d.side`,
)

const countRunsUpTo = statement(
  'count-runs-up-to',
  { row: { runs: 'int8' }, parameters: { accountId: 'text', id: 'text', most: 'int8' } },
  `select count(*) as runs from (select from journey_runs where account_id = :accountId and journey_id = :id limit :most) r`,
)

/** Sides are counted in at most this many runs, the newest ones: those of 300,000 runs take seconds. */
export const countedRuns = 20_000

/** Returns whether a journey has more runs than its sides are counted in. */
export const hasMoreRuns = async ({ sql, accountId }: AccountSql, id: string, most = countedRuns): Promise<boolean> =>
  (await sql(countRunsUpTo, { accountId, id, most: most + 1 }))[0]!.runs > most

const sidesOfKind = { branch: ['then', 'else'], 'wait-for': ['then', 'else'], split: ['a', 'b'] } as const
const isForkKind = (kind: Step['kind']): kind is Fork['kind'] => Object.hasOwn(sidesOfKind, kind)

const none = { runs: 0, sent: 0, opened: 0, clicked: 0, answered: 0 }

/**
 * Returns the results of each side of the steps that have sides: those of the newest version, in their order, then those of older
 * versions that runs have passed. Counts the `most` newest runs.
 */
export const sidesOf = async (
  { sql, accountId }: AccountSql,
  { id, version, definition }: JourneyDetail,
  most = countedRuns,
): Promise<SideResults[]> => {
  const results = new Map(
    (await sql(countSides, { accountId, journeyId: id, most })).map((one) => [
      `${one.version} ${one.step} ${one.side}`,
      one,
    ]),
  )
  const newest = Array.from(stepsOf(definition)).flatMap(({ step: found, path }): Fork[] => {
    const step = found as Step
    return isForkKind(step.kind) ? [{ version, step: pathText(path), kind: step.kind, summary: summaryOf(step) }] : []
  })
  const older = [...results.values()]
    .filter((one) => one.version !== version)
    .map(({ version, step, kind }): Fork => ({ version, step, kind, summary: '' }))
    .sort((a, b) => b.version - a.version || a.step.localeCompare(b.step, 'en', { numeric: true }))
  const forks = new Map([...newest, ...older].map((fork) => [`${fork.version} ${fork.step}`, fork]))
  return [...forks.values()].flatMap((fork) =>
    sidesOfKind[fork.kind].map((side) => {
      const { runs, sent, opened, clicked, answered } = results.get(`${fork.version} ${fork.step} ${side}`) ?? none
      return { ...fork, side, runs, sent, opened, clicked, answered }
    }),
  )
}

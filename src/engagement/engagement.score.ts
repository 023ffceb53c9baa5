import { readContacts } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import type { RowOf } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { leadScores } from './engagement.columns.ts'
import type { Interaction } from './engagement.entities.ts'

/** Points for each interaction (docs/reference/studio.md#lead-score). */
const points: Record<Interaction['kind'], number> = {
  open: 1,
  click: 3,
  vote: 5,
  rating: 5,
  quiz: 5,
  form: 10,
  booking: 15,
  purchase: 25,
}

const halfLifeMs = 30 * 24 * 60 * 60_000
const hotAt = 50
/** A hot lead whose score falls below this can become hot again. */
const coldBelow = 40

const scoreColumns = columns(leadScores, ['points', 'at', 'isHot'])

type Score = RowOf<typeof scoreColumns.types>

/** Returns the points that remain at `now`. */
const decayed = ({ points: full, at }: Score, now: Date): number =>
  full * 0.5 ** (Math.max(now.getTime() - at.getTime(), 0) / halfLifeMs)

const rounded = (score: number): number => Math.round(score * 100) / 100

const ofAddress = types(leadScores, 'accountId', 'email')

const lockOrCreate = preparedStatement(
  'lock-lead-score',
  { row: scoreColumns.types, parameters: { ...ofAddress, now: 'timestamptz' } },
  `insert into lead_scores (account_id, email, points, at, is_hot)
   values (:accountId, :email, 0, :now, false)
   on conflict (account_id, email) do update set is_hot = lead_scores.is_hot
   returning ${scoreColumns.list}`,
)

const updateScore = preparedStatement(
  'set-lead-score',
  { parameters: { ...ofAddress, ...scoreColumns.types } },
  `update lead_scores set ${scoreColumns.set} where account_id = :accountId and email = :email`,
)

/** Locks the score's row, and creates it if it is missing. */
export const lockScore = async ({ sql, accountId, now }: Work, email: string): Promise<Score> => {
  const [row] = await sql(lockOrCreate, { accountId, email, now })
  return row!
}

/**
 * Returns the SQL expression of the score of a row of `lead_scores` at a time, as it is displayed. After 1,000 half-lives it is 0
 * anyway.
 */
export const scoreAt = (row: string, now: string): string =>
  `round((${row}.points * power(0.5, least(
    greatest(extract(epoch from ${now} - ${row}.at)::float8, 0) / ${halfLifeMs / 1000}, 1000)))::numeric, 2)`

const changeScore = async (work: Work, email: string, changed: (before: number) => number): Promise<number> => {
  const { sql, accountId, now } = work
  const stored = await lockScore(work, email)
  const before = decayed(stored, now)
  const score = changed(before)
  // The displayed scores are compared: ten votes within a minute are 50, although the first ones have decayed a little.
  const isHot = rounded(score) >= hotAt
  const wasHot = stored.isHot && before >= coldBelow
  await sql(updateScore, { accountId, email, points: score, at: now, isHot: wasHot || isHot })
  if (wasHot || !isHot) return score
  const [contact] = await readContacts(work, email)
  // An address that is in no list is not a lead.
  if (contact)
    await emit(work, 'lead.hot', () => [
      { contact, score: rounded(score), previousScore: rounded(before), threshold: hotAt },
    ])
  return score
}

/** Adds the points of an interaction, and fires `lead.hot` if the score reaches the threshold. Call it last: it locks the score. */
export const addToScore = async (work: Work, email: string, kind: Interaction['kind']): Promise<void> => {
  await changeScore(work, email, (before) => before + points[kind])
}

const lockRow = statement(
  'lock-lead-score-row',
  { parameters: ofAddress },
  'select from lead_scores where account_id = :accountId and email = :email for update',
)

/** Locks the score of an address. Does nothing if it has none. */
export const lockExistingScore = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(lockRow, { accountId, email })
}

/** The current lead score (`svc score`). */
interface ScoreView {
  email: string
  score: number
  threshold: number
  hot: boolean
  /** The time in epoch ms. It is null if the address was never scored. */
  updatedAt: number | null
}

const readScore = statement(
  'read-lead-score',
  { row: scoreColumns.types, parameters: ofAddress },
  `select ${scoreColumns.list} from lead_scores where account_id = :accountId and email = :email`,
)

/** Returns the score of a normalised address at `work.now`, or 0 for an unknown address. */
export const showScore = async ({ sql, accountId, now }: Work, email: string): Promise<ScoreView> => {
  const [row] = await sql(readScore, { accountId, email })
  const score = row ? decayed(row, now) : 0
  const hot = row?.isHot === true && score >= coldBelow
  return { email, score: rounded(score), threshold: hotAt, hot, updatedAt: row ? row.at.getTime() : null }
}

/** Sets the score of a normalised address, and fires `lead.hot` if it reaches the threshold. Returns the new score. */
export const setScore = async (work: Work, email: string, score: number): Promise<ScoreView> => {
  await changeScore(work, email, () => score)
  return showScore(work, email)
}

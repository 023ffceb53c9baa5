import { readContacts } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import type { Work } from '../store/work.ts'
import type { Interaction } from './engagement.entities.ts'

/** What an interaction is worth (decisions.md, Studio projects: lead score). */
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
/** Below it a lead that was hot can become hot again. */
const coldBelow = 40

interface Score {
  points: number
  at: Date
  isHot: boolean
}

/** What is left of the points at `now`. */
const faded = ({ points: full, at }: Score, now: Date): number =>
  full * 0.5 ** (Math.max(now.getTime() - at.getTime(), 0) / halfLifeMs)

const shown = (score: number): number => Math.round(score * 100) / 100

/** The row, made where it is missing, and locked. */
const lockScore = async ({ sql, accountId, now }: Work, email: string): Promise<Score> => {
  const [row] = await sql<Score>(
    `insert into lead_scores (account_id, email, points, at, is_hot) values ($1, $2, 0, $3, false)
     on conflict (account_id, email) do update set is_hot = lead_scores.is_hot returning points, at, is_hot as "isHot"`,
    [accountId, email, now],
    'lock-lead-score',
  )
  return row!
}

const change = async (work: Work, email: string, changed: (before: number) => number): Promise<number> => {
  const { sql, accountId, now } = work
  const held = await lockScore(work, email)
  const before = faded(held, now)
  const score = changed(before)
  // As it is shown: ten votes within a minute are 50.
  const isHot = shown(score) >= hotAt
  const wasHot = held.isHot && before >= coldBelow
  await sql(
    'update lead_scores set points = $3, at = $4, is_hot = $5 where account_id = $1 and email = $2',
    [accountId, email, score, now, wasHot || isHot],
    'set-lead-score',
  )
  if (wasHot || !isHot) return score
  const [contact] = await readContacts(work, email)
  // Who is in no list is no lead of anybody.
  if (contact)
    await emit(work, 'lead.hot', () => [
      { contact, score: shown(score), previousScore: shown(before), threshold: hotAt },
    ])
  return score
}

/** Adds what an interaction is worth; on crossing the threshold upward `lead.hot` fires. Locks the score: call it last. */
export const addToScore = async (work: Work, email: string, kind: Interaction['kind']): Promise<void> => {
  await change(work, email, (before) => before + points[kind])
}

/** A lead score as it is now (`svc score`). `updatedAt` in epoch ms; null where there was nothing to score. */
export interface ScoreView {
  email: string
  score: number
  threshold: number
  hot: boolean
  updatedAt: number | null
}

/** The score of a normalised address at the time of the unit of work; 0 for an address that nothing is known of. */
export const showScore = async ({ sql, accountId, now }: Work, email: string): Promise<ScoreView> => {
  const [row] = await sql<Score>(
    'select points, at, is_hot as "isHot" from lead_scores where account_id = $1 and email = $2',
    [accountId, email],
  )
  const score = row ? faded(row, now) : 0
  const hot = row?.isHot === true && score >= coldBelow
  return { email, score: shown(score), threshold: hotAt, hot, updatedAt: row ? row.at.getTime() : null }
}

/** Sets the score of a normalised address; `lead.hot` fires as for any other change that crosses the threshold. */
export const setScore = async (work: Work, email: string, score: number): Promise<ScoreView> => {
  await change(work, email, () => score)
  return showScore(work, email)
}

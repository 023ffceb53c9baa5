import { hash } from 'node:crypto'
import { invalid } from '../lib/problem.ts'
import { parseDuration } from '../lib/since.ts'
import { countSentByVariant } from '../messages/messages.ts'
import { countPeopleByVariant, type VariantCounts } from '../results/results.ts'
import { typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { Variants, Winner } from './broadcasts.entities.ts'
import { keyPrefix, showBroadcast } from './broadcasts.find.ts'
import type { BroadcastView } from './broadcasts.shapes.ts'

/*
 * A broadcast with several subjects. Which one a recipient gets follows from a hash of the address: its first 32 bits choose the
 * variant, the next ones whether the recipient is in the share that gets variants.
 */

export const winners = ['opened', 'clicked', 'answered'] as const satisfies readonly Winner[]
const shortestMs = 60_000
const longestMs = 30 * 86_400_000

interface VariantsInput {
  subjects: string[]
  share?: number | undefined
  winner?: (typeof winners)[number] | undefined
  /** A duration, or ms. */
  after?: string | number | undefined
}

/**
 * Returns the variants of several subjects; null for fewer than two. Throws Problem `invalid` for values that don't go
 * together.
 */
export const variantsOf = ({ subjects, share, winner, after }: VariantsInput): Variants | null => {
  const given = [share, winner, after].filter((value) => value !== undefined).length
  if (subjects.length < 2) {
    if (given > 0) throw invalid('share, winner and after need at least two subjects')
    return null
  }
  if (new Set(subjects).size < subjects.length) throw invalid('subject must not be given twice')
  if (given === 0) return { subjects, contest: null }
  if (share === undefined || winner === undefined || after === undefined)
    throw invalid('share, winner and after must be given together')
  const afterMs = typeof after === 'number' ? after : parseDuration(after)
  if (afterMs < shortestMs || afterMs > longestMs) throw invalid('after must be from 1m to 30d')
  return { subjects, contest: { share, by: winner, afterMs } }
}

const bitsOf = (email: string) => hash('md5', email, 'buffer')

const inShare = (email: string, share: number): boolean => bitsOf(email).readUInt32BE(4) % 100 < share

const hashed = (email: string, from: number) => `('x' || substr(md5(${email}), ${from}, 8))::bit(32)::int8`

/** Returns the SQL condition that the address is not in the share. */
export const isOfRest = (email: string, { contest }: Variants): string =>
  contest ? `${hashed(email, 9)} % 100 >= ${contest.share}` : 'false'

/** Returns the number of the subject that an address gets. `winner` null: the rest has none yet. */
export const variantOf = (email: string, { subjects, contest }: Variants, winner: number | null): number =>
  contest === null || inShare(email, contest.share) ? bitsOf(email).readUInt32BE(0) % subjects.length : (winner ?? 0)

/** Returns an SQL expression of the number of the subject that an address got. */
const variantIn =
  (variants: Variants, winner: number | null) =>
  (email: string): string => {
    const own = `${hashed(email, 1)} % ${variants.subjects.length}`
    return `case when ${isOfRest(email, variants)} then ${winner ?? 0} else ${own} end`
  }

/** Counts the emails of each variant that were sent. Reads all of them, for a million some seconds: once the broadcast has ended, the result is kept. */
export const countSent = async (
  work: Work,
  id: string,
  variants: Variants,
  winner: number | null,
): Promise<number[]> => {
  const sent = await countSentByVariant(work, keyPrefix(id), variantIn(variants, winner))
  return variants.subjects.map((_, i) => sent.get(i) ?? 0)
}

const countsOf = async (
  work: Work,
  id: string,
  { variants, winner, sent }: { variants: Variants; winner: number | null; sent: number[] },
): Promise<VariantCounts[]> => {
  const people = await countPeopleByVariant(work, id, variantIn(variants, winner))
  const none = { opened: 0, clicked: 0, answered: 0 }
  return sent.map((count, i) => ({ sent: count, ...(people.get(i) ?? none) }))
}

/** Returns the number of the variant with the highest rate among the emails that were sent; of equal ones the first. */
export const decideWinner = async (work: Work, id: string, variants: Variants): Promise<number> => {
  const by = variants.contest!.by
  const sent = await countSent(work, id, variants, null)
  const rates = (await countsOf(work, id, { variants, winner: null, sent })).map(
    (counts) => counts[by] / Math.max(1, counts.sent),
  )
  return rates.indexOf(Math.max(...rates))
}

const readVariants = statement(
  'read-variants-of-broadcast',
  {
    row: { variants: typed<Variants | null>('jsonb'), winner: 'int4?', sent: typed<number[] | null>('jsonb') },
    parameters: { accountId: 'text', id: 'text' },
  },
  'select variants, winner, variant_sent as sent from broadcasts where account_id = :accountId and id = :id',
)

/** A broadcast with the results of its variants, if it has several; `winner`: the subject that the rest got, or null. */
type BroadcastDetail = BroadcastView & {
  variants?: ({ subject: string } & VariantCounts)[]
  winner?: string | null
}

/** Returns how the subject for the rest of the recipients will be chosen, or null if it is chosen, or all get variants. */
export const openContestOf = async (work: Work, id: string): Promise<Variants['contest']> => {
  const [row] = await work.sql(readVariants, { accountId: work.accountId, id })
  return row?.winner === null ? (row.variants?.contest ?? null) : null
}

/** Returns a broadcast with the results of its variants. Throws Problem `not_found`, or `conflict` if several have the name. */
export const showBroadcastInDetail = async (work: Work, ref: string): Promise<BroadcastDetail> => {
  const view = await showBroadcast(work, ref)
  const [row] = await work.sql(readVariants, { accountId: work.accountId, id: view.id })
  const { variants, winner } = row!
  if (!variants) return view
  const sent = row!.sent ?? (await countSent(work, view.id, variants, winner))
  const counts = await countsOf(work, view.id, { variants, winner, sent })
  return {
    ...view,
    variants: variants.subjects.map((subject, i) => ({ subject, ...counts[i]! })),
    winner: winner === null ? null : variants.subjects[winner]!,
  }
}

import { compare, openCommits } from './commits.ts'
import type { Bench, Row } from './support.ts'

/** Callers of each daemon: few enough that two cores have idle time with four daemons. */
const callersEach = 4

/**
 * Two and four daemons beside one, each with callers of its own accounts, which have a webhook. Commits take `ms`, 100 by default (the
 * longest that PostgreSQL can delay them), so that what the daemons share is the bound, and not the CPU of one machine.
 */
export const bench = async (b: Bench, ms = 100): Promise<Row[]> => {
  const { wanting, callers, close } = await openCommits(b, ms, { daemons: 4, without: 0, wanting: 4 * callersEach })
  const by = (count: number) => callers(wanting.slice(0, count * callersEach), count)
  try {
    return [
      await compare('2 daemons ÷ one', ms, by(2), by(1), { atLeast: 1.8 }),
      await compare('4 daemons ÷ one', ms, by(4), by(1), { atLeast: 3 }),
    ]
  } finally {
    await close()
  }
}

import { compare, openCommits } from './commits.ts'
import type { Bench, Row } from './support.ts'

/** Callers of each daemon. With four, four daemons use up two cores at 20 ms a commit; with one, nobody is bound by CPU. */
const callers = [4, 1] as const

/**
 * Two and four daemons beside one, each with callers of its own accounts, which have a webhook. Commits take `ms`, 100 by default (the
 * longest that PostgreSQL can delay them). A daemon is bound by its callers, each of which waits for its commits, so what the daemons
 * share shows, unless the cores are used up.
 */
export const bench = async (b: Bench, ms = 100): Promise<Row[]> => {
  const opened = await openCommits(b, ms, { daemons: 4, without: 0, wanting: 4 * callers[0] })
  const rows: Row[] = []
  try {
    for (const each of callers) {
      const by = (count: number) => opened.callers(opened.wanting.slice(0, count * each), count)
      const name = (count: number) => `${count} daemons ÷ one, ${each} ${each === 1 ? 'caller' : 'callers'} each`
      rows.push(await compare(name(2), ms, by(2), by(1), { atLeast: 1.8 }))
      rows.push(await compare(name(4), ms, by(4), by(1), { atLeast: 3 }))
    }
    return rows
  } finally {
    await opened.close()
  }
}

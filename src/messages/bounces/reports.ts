import { countEnded } from '../../results/results.rows.ts'
import { statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { Work } from '../../store/work.ts'
import { causeOf } from '../messages.ended.ts'

const kindsOf = { bounced: ['hard', 'soft'], complained: ['complaint'] } as const

const lockMessage = statement(
  'lock-message-of-report',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from messages where account_id = :accountId and id = :id for no key update',
)

const countFirst = statement(
  'count-first-report',
  { parameters: { accountId: 'text', id: 'text', metric: 'text', kinds: '_text', now: 'timestamptz' } },
  countEnded(`
    select m.account_id, m.project_id, ${causeOf('m')} as cause, ${utcDay(':now::timestamptz')} as day, :metric as metric, 1 as count
    from messages m where m.account_id = :accountId and m.id = :id and (
      select count(*) from message_reports r where r.account_id = :accountId and r.message_id = :id and r.kind = any(:kinds)
    ) = 1`),
)

/**
 * Counts a message as bounced or complained once, with the first report of that kind, which this transaction has added. Locks the
 * message: call it last.
 */
export const countReport = async (work: Work, id: string, metric: keyof typeof kindsOf): Promise<void> => {
  const { sql, accountId, now } = work
  await sql(lockMessage, { accountId, id })
  await sql(countFirst, { accountId, id, metric, kinds: kindsOf[metric], now })
}

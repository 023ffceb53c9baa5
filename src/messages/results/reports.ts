import { statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { Listener, Work } from '../../store/work.ts'
import { causeOf, countActions, countEnded } from './results.count.ts'

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

const countLeft = statement(
  'count-person-who-left',
  { parameters: { accountId: 'text', messageId: 'text', now: 'timestamptz' } },
  countActions({
    from: `(select account_id, project_id, email, :now::timestamptz as at, ${causeOf('m')} as cause from messages m where account_id = :accountId and id = :messageId) m`,
    cause: 'cause',
    metric: `'unsubscribed'`,
    url: 'null',
    where: `email <> ''`,
  }),
)

/** Counts a recipient who left by the link of a message. */
export const countUnsubscribed: Listener = {
  async mailLeft({ sql, accountId, now }, { messageId }) {
    await sql(countLeft, { accountId, messageId, now })
  },
}

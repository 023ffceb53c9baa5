import { statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { Listener, Work } from '../../store/work.ts'
import { causeOf, countActions, countEnded } from './results.count.ts'

const kindsOf = { bounced: ['hard', 'soft'], complained: ['complaint'] } as const

const lockMessage = statement(
  'lock-message-of-report',
  {},
  'select from messages where account_id = $1 and id = $2 for no key update',
)

const countFirst = statement(
  'count-first-report',
  {},
  countEnded(`
    select m.account_id, m.project_id, ${causeOf('m')} as cause, ${utcDay('$5::timestamptz')} as day, $3 as metric, 1 as count
    from messages m where m.account_id = $1 and m.id = $2 and (
      select count(*) from message_reports r where r.account_id = $1 and r.message_id = $2 and r.kind = any($4)
    ) = 1`),
)

/**
 * Counts a message as bounced or complained once, with the first report of that kind, which this transaction has added. Locks the
 * message: call it last.
 */
export const countReport = async (work: Work, id: string, metric: keyof typeof kindsOf): Promise<void> => {
  const { sql, accountId, now } = work
  await sql(lockMessage, [accountId, id])
  await sql(countFirst, [accountId, id, metric, kindsOf[metric], now])
}

const countLeft = statement(
  'count-person-who-left',
  {},
  countActions({
    from: `(select account_id, project_id, email, $3::timestamptz as at, ${causeOf('m')} as cause from messages m where account_id = $1 and id = $2) m`,
    cause: 'cause',
    metric: `'unsubscribed'`,
    url: 'null',
    where: `email <> ''`,
  }),
)

/** Counts a recipient who left by the link of a message. */
export const countUnsubscribed: Listener = {
  async mailLeft({ sql, accountId, now }, { messageId }) {
    await sql(countLeft, [accountId, messageId, now])
  },
}

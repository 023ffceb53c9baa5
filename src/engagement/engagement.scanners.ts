import { preparedStatement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { SentMail } from './engagement.sent.ts'
import { recordInteraction } from './interactions/interactions.ts'

/*
 * Programs with the user agent of a browser that follow every link of an email. They follow a link that nobody can see, or more links
 * at once than a person can.
 */

/** The number of the link that nobody can see. The others count from 0. */
const trapLink = -1

const readIsScanned = preparedStatement<{ isScanned: boolean }>(
  'is-message-scanned',
  { isScanned: 'bool' },
  `select coalesce(bool_or(link = '${trapLink}'), false) or count(*) filter (where at > $3::timestamptz - interval '1 second') >= 3
     as "isScanned"
   from interactions where account_id = $1 and message_id = $2 and kind = 'click' and link <> ''
     and at > $3::timestamptz - interval '1 minute'`,
)

/** Returns whether a program is following all links of an email at this moment. */
export const isScanned = async ({ sql, accountId, now }: Work, { id }: Pick<SentMail, 'id'>): Promise<boolean> => {
  const [row] = await sql(readIsScanned, [accountId, id, now])
  return row!.isScanned
}

/** Records that a program followed the link that nobody can see. */
export const recordTrap = async (work: Work, sent: SentMail): Promise<void> => {
  await recordInteraction(work, sent, {
    ...{ kind: 'click', blockId: null, value: null, link: trapLink, isBot: true, onOther: 'keep' },
  })
}

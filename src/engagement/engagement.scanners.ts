import { preparedStatement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { SentMail } from './engagement.sent.ts'
import { recordInteraction } from './interactions/interactions.record.ts'

/*
 * Link scanners with the user agent of a browser. They follow the honeypot, a link that no person sees, or more links
 * at once than a person can.
 */

/** The number of the honeypot. Other links count from 0. */
const honeypotLink = -1

const readIsScanned = preparedStatement(
  'is-message-scanned',
  { row: { isScanned: 'bool' }, parameters: { accountId: 'text', messageId: 'text', now: 'timestamptz' } },
  `select coalesce(bool_or(link = '${honeypotLink}'), false) or count(*) filter (where at > :now::timestamptz - interval '1 second') >= 3
     as "isScanned"
   from interactions where account_id = :accountId and message_id = :messageId and kind = 'click' and link <> ''
     and at > :now::timestamptz - interval '1 minute'`,
)

/** Returns whether a scanner is following the links of an email at this moment. */
export const isScanned = async ({ sql, accountId, now }: Work, { id }: Pick<SentMail, 'id'>): Promise<boolean> => {
  const [row] = await sql(readIsScanned, { accountId, messageId: id, now })
  return row!.isScanned
}

/** Records that a scanner followed the honeypot. */
export const recordHoneypot = async (work: Work, sent: SentMail): Promise<void> => {
  await recordInteraction(work, sent, {
    kind: 'click',
    blockId: null,
    value: null,
    link: honeypotLink,
    isBot: true,
    onOther: 'keep',
  })
}

import type { Attachment } from '../../net/mime.ts'
import type { Sql } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'

/*
 * The attachments of a call are stored once, with the message to its first recipient. Claims do not read them: they are loaded when
 * a connection takes the message.
 */

export interface NewAttachment extends Omit<Attachment, 'lines'> {
  content: Buffer
}

const insertAttachment = statement(
  'insert-attachment',
  {},
  `insert into message_attachments (account_id, message_id, position, filename, content_type, content_id, size, content)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
)

/** Stores the attachments of a message, one statement for each: their bytes are sent as they are. */
export const insertAttachments = async (
  { sql, accountId }: Work,
  messageId: string,
  attachments: readonly NewAttachment[],
): Promise<void> => {
  for (const [position, { filename, contentType, contentId, content }] of attachments.entries())
    await sql(insertAttachment, [
      ...[accountId, messageId, position, filename, contentType, contentId, content.length],
      content,
    ])
}

const findAttachments = statement<Omit<Attachment, 'lines'> & { position: number; size: number }>(
  'find-attachments',
  { position: 'int4', size: 'int4', filename: 'text', contentType: 'text', contentId: 'text' },
  `select position, size, filename, content_type as "contentType", content_id as "contentId"
   from message_attachments where account_id = $1 and message_id = $2 order by position`,
)

/** Bytes read by one statement, a multiple of the 57 bytes of a line: more at once would delay other messages. */
const sliceBytes = 57 * 8 * 1024

// PostgreSQL encodes them, in lines of 76 characters: in this process it would delay other messages.
const readLines = statement<{ lines: string }>(
  'read-attachment',
  { lines: 'text' },
  `select replace(encode(substring(content from $4 for ${sliceBytes}), 'base64'), e'\\n', e'\\r\\n') as lines
   from message_attachments where account_id = $1 and message_id = $2 and position = $3`,
)

/** Returns the attachments of a message with their encoded content. Throws if some were deleted meanwhile. */
export const loadAttachments = async (sql: Sql, accountId: string, messageId: string): Promise<Attachment[]> => {
  const found = await sql(findAttachments, [accountId, messageId])
  const attachments: Attachment[] = []
  for (const { position, size, ...about } of found) {
    const lines: Buffer[] = []
    for (let from = 0; from < size; from += sliceBytes) {
      const [row] = await sql(readLines, [accountId, messageId, position, from + 1])
      if (!row) throw new Error('An attachment was deleted while it was read')
      lines.push(Buffer.from(row.lines, 'latin1'))
    }
    attachments.push({ ...about, lines })
  }
  return attachments
}

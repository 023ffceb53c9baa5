import type { Attachment } from '../../net/mime.ts'
import type { Sql } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { messageAttachments } from '../messages.columns.ts'

/*
 * The attachments of a call are stored once, with the message to its first recipient. Claims do not read them: they are loaded when
 * a connection takes the message.
 */

interface NewAttachment extends Omit<Attachment, 'lines'> {
  content: Buffer
}

const allColumns = columns(messageAttachments, [
  'accountId',
  'messageId',
  'position',
  'filename',
  'contentType',
  'contentId',
  'size',
  'content',
])

const insertAttachment = statement(
  'insert-attachment',
  { parameters: allColumns.types },
  `insert into message_attachments (${allColumns.names}) values (${allColumns.values})`,
)

/** Stores the attachments of a message, one statement for each: their bytes are sent as they are. */
export const insertAttachments = async (
  { sql, accountId }: Work,
  messageId: string,
  attachments: readonly NewAttachment[],
): Promise<void> => {
  for (const [position, attachment] of attachments.entries())
    await sql(insertAttachment, { ...attachment, accountId, messageId, position, size: attachment.content.length })
}

const found = columns(messageAttachments, ['position', 'size', 'filename', 'contentType', 'contentId'])

const findAttachments = statement(
  'find-attachments',
  { row: found.types, parameters: types(messageAttachments, 'accountId', 'messageId') },
  `select ${found.list} from message_attachments where account_id = :accountId and message_id = :messageId order by position`,
)

/** Bytes read by one statement, a multiple of the 57 bytes of a line: more at once would delay other messages. */
const sliceBytes = 57 * 8 * 1024

// PostgreSQL encodes them, in lines of 76 characters: in this process it would delay other messages.
const readLines = statement(
  'read-attachment',
  {
    row: { lines: 'text' },
    parameters: { ...types(messageAttachments, 'accountId', 'messageId', 'position'), from: 'int4' },
  },
  `select replace(encode(substring(content from :from for ${sliceBytes}), 'base64'), e'\\n', e'\\r\\n') as lines
   from message_attachments where account_id = :accountId and message_id = :messageId and position = :position`,
)

/** Returns the attachments of a message with their encoded content. Throws if some were deleted meanwhile. */
export const loadAttachments = async (sql: Sql, accountId: string, messageId: string): Promise<Attachment[]> => {
  const attachments: Attachment[] = []
  for (const { position, size, ...about } of await sql(findAttachments, { accountId, messageId })) {
    const lines: Buffer[] = []
    for (let from = 0; from < size; from += sliceBytes) {
      const [row] = await sql(readLines, { accountId, messageId, position, from: from + 1 })
      if (!row) throw new Error('An attachment was deleted while it was read')
      lines.push(Buffer.from(row.lines, 'latin1'))
    }
    attachments.push({ ...about, lines })
  }
  return attachments
}

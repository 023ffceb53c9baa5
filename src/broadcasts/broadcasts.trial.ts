import { readBrand } from '../accounts/accounts.ts'
import { type Contact, readContacts } from '../contacts/contacts.ts'
import { parse } from '../lib/parse.ts'
import { fillSubject, Recipient, type SendBody, type SendResult, sendMessage, trySend } from '../messages/messages.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { previewLinks, renderProject } from '../studio/studio.ts'
import { audienceOf } from './broadcasts.audience.ts'
import { broadcasts } from './broadcasts.columns.ts'
import { idOfBroadcast } from './broadcasts.find.ts'
import { composeLetter } from './broadcasts.letter.ts'

const testedColumns = columns(broadcasts, [
  'id',
  'projectId',
  'subject',
  'variants',
  'sender',
  'replyTo',
  'letter',
  'listId',
  'audience',
])
type Tested = RowOf<typeof testedColumns.types>

const readLetter = statement(
  'read-letter-of-broadcast',
  { row: testedColumns.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${testedColumns.list} from broadcasts where account_id = :accountId and id = :id`,
)

/** Returns the contact fields that the broadcast would use for an address, or undefined if none of its lists has it. */
const fieldsOf = async (work: Work, email: string, tested: Tested): Promise<Contact['fields'] | undefined> => {
  const { isAll, parts } = audienceOf(tested)
  const lists = parts.map(({ listId }) => listId)
  const contacts = (await readContacts(work, email)).filter(({ listId }) => isAll || lists.includes(listId))
  return contacts.sort((a, b) => lists.indexOf(a.listId) - lists.indexOf(b.listId) || b.updatedAt - a.updatedAt)[0]
    ?.fields
}

const setTested = statement(
  'set-tested-version-of-broadcast',
  { parameters: { accountId: 'text', id: 'text', version: 'int4' } },
  'update broadcasts set tested_version = :version where account_id = :accountId and id = :id',
)

/** Without an id, nothing was sent. */
type Sent = Omit<SendResult, 'id'> & { id?: string }

/** A test email, and the version of the project that it shows. */
type TestResult = Sent & {
  projectVersion: number
  /** The result for each subject, if there are several. */
  variants?: (Sent & { subject: string })[]
}

/**
 * Sends one email for each subject, as the broadcast would, to an address of the operator's choice. Merge fields are
 * filled if one of its lists has the address. It counts as a send. Nothing in it is tracked: it has the author's links,
 * and personal links lead nowhere. The version counts as tested unless an email failed. With `trial`, which rolls a unit of
 * work back, it sends nothing and returns what it would. Throws Problem `not_found` for the broadcast or its project,
 * `invalid` if the account can't send as the broadcast asks, and as `sendMessage` does.
 */
export const testBroadcast = async (
  app: App,
  accountId: string,
  actor: string,
  ref: string,
  to: string,
  trial?: <T>(run: (work: Work) => Promise<T>) => Promise<T>,
): Promise<TestResult> => {
  const email = parse(Recipient, to, 'to')
  const { id, letter, projectId, postalAddress, fields } = await app.work(accountId, actor, async (work) => {
    const [row] = await work.sql(readLetter, { accountId, id: await idOfBroadcast(work, ref) })
    const { id, projectId } = row!
    const letter = row!.letter ?? (await composeLetter(app, work, row!))
    const { postalAddress } = await readBrand(work)
    return { id, letter, projectId, postalAddress, fields: await fieldsOf(work, email, row!) }
  })
  const mergeData = { email, ...fields }
  const { projectVersion: version, subject, from, replyTo } = letter
  const mail = await renderProject(app, {
    accountId,
    id: projectId,
    version,
    mergeData,
    links: { ...previewLinks, postalAddress },
    nowMs: app.now().getTime(),
  })
  const bodyOf = (line: string): SendBody => ({
    to: email,
    // An address that unsubscribed can still receive a test.
    type: 'transactional',
    from,
    replyTo: replyTo ?? undefined,
    subject: `[Test] ${fillSubject(line, mergeData)}`,
    html: mail.html,
    text: mail.text,
  })
  const send = async (body: SendBody): Promise<Sent> =>
    trial
      ? trial((work) => trySend(app, work, body))
      : (await sendMessage(app, accountId, body, { actor, countsCall: false })).result
  const variants: (Sent & { subject: string })[] = []
  for (const line of letter.subjects ?? [subject]) variants.push({ subject: line, ...(await send(bodyOf(line))) })
  const failed = variants.find(({ status }) => status === 'failed')
  if (!failed && !trial) await app.work(accountId, actor, ({ sql }) => sql(setTested, { accountId, id, version }))
  const { subject: _, ...result } = failed ?? variants[0]!
  return { ...result, projectVersion: version, ...(letter.subjects && { variants }) }
}

import { readContacts } from '../contacts/contacts.ts'
import { parse } from '../lib/parse.ts'
import { fillSubject, Recipient, type SendBody, type SendResult, sendMessage } from '../messages/messages.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { previewLinks, renderProject } from '../studio/studio.ts'
import { showBroadcast } from './broadcasts.find.ts'
import { composeLetter, type Letter, type LetterChoice } from './broadcasts.letter.ts'

const readLetter = statement<LetterChoice & { letter: Letter | null }>(
  'read-letter-of-broadcast',
  { projectId: 'text', subject: 'text', variants: 'jsonb', sender: 'text', replyTo: 'text', letter: 'jsonb' },
  `select project_id as "projectId", subject, variants, sender, reply_to as "replyTo", letter from broadcasts
   where account_id = $1 and id = $2`,
)

const setTested = statement(
  'set-tested-version-of-broadcast',
  {},
  'update broadcasts set tested_version = $3 where account_id = $1 and id = $2',
)

/** A test email, and the version of the project that it shows. */
export type TestResult = SendResult & {
  projectVersion: number
  /** Of several subjects: the result for each of them. */
  variants?: (SendResult & { subject: string })[]
}

/**
 * Sends one email, or one for each of several subjects, as the broadcast would, to an address of the operator's choice. Merge fields are filled if the list has the
 * address. It counts as a send. Nothing in it is tracked: it has the author's links, and personal links lead nowhere.
 * Throws Problem `not_found` for the broadcast or its project, `invalid` if the account can't send as the broadcast asks, and as
 * `sendMessage` does.
 */
export const testBroadcast = async (
  app: App,
  accountId: string,
  actor: string,
  ref: string,
  to: string,
): Promise<TestResult> => {
  const email = parse(Recipient, to, 'to')
  const { id, letter, projectId, fields } = await app.work(accountId, actor, async (work) => {
    const { id, listId, listIds = [] } = await showBroadcast(work, ref)
    const [row] = await work.sql(readLetter, [accountId, id])
    const contacts = (await readContacts(work, email)).toSorted((a, b) => b.updatedAt - a.updatedAt)
    const lists = listId === null ? [] : [...listIds, listId]
    const contact = contacts
      .filter((one) => lists.length === 0 || lists.includes(one.listId))
      .sort((a, b) => lists.indexOf(a.listId) - lists.indexOf(b.listId))[0]
    const letter = row!.letter ?? (await composeLetter(app, work, row!))
    return { id, letter, projectId: row!.projectId, fields: contact?.fields }
  })
  const mergeData = { email, ...fields }
  const { projectVersion: version, subject, from, replyTo } = letter
  const mail = await renderProject(app, {
    ...{ accountId, id: projectId, version, mergeData },
    ...{ links: previewLinks, nowMs: app.now().getTime() },
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
  const variants: (SendResult & { subject: string })[] = []
  for (const line of letter.subjects ?? [subject]) {
    const { result } = await sendMessage(app, accountId, bodyOf(line), { actor, countsCall: false })
    variants.push({ subject: line, ...result })
  }
  await app.work(accountId, actor, ({ sql }) => sql(setTested, [accountId, id, version]))
  const { subject: _, ...result } = variants.find(({ status }) => status === 'failed') ?? variants[0]!
  return { ...result, projectVersion: version, ...(letter.subjects && { variants }) }
}

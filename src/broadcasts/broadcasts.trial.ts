import { readContacts } from '../contacts/contacts.ts'
import { parse } from '../lib/parse.ts'
import { fillSubject, Recipient, type SendBody, type SendResult, sendMessage } from '../messages/messages.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { findProject, previewLinks, renderProject } from '../studio/studio.ts'
import { showBroadcast } from './broadcasts.find.ts'

const readSubject = statement<{ subject: string | null }>(
  'read-subject-of-broadcast',
  { subject: 'text' },
  'select subject from broadcasts where account_id = $1 and id = $2',
)

/**
 * Sends one email as the broadcast would, to an address of the operator's choice. Merge fields are filled if the list has the
 * address. It counts as a send. Nothing in it is tracked: it has the author's links, and personal links lead nowhere.
 * Throws Problem `not_found` for the broadcast or its project, and as `sendMessage` does.
 */
export const testBroadcast = async (
  app: App,
  accountId: string,
  actor: string,
  id: string,
  to: string,
): Promise<SendResult> => {
  const email = parse(Recipient, to, 'to')
  const { project, subject, fields } = await app.work(accountId, actor, async (work) => {
    const { listId, projectId } = await showBroadcast(work, id)
    const [row] = await work.sql(readSubject, [accountId, id])
    const [contact] = await readContacts(work, email, listId)
    return { project: await findProject(work, projectId), ...row!, fields: contact?.fields }
  })
  const mergeData = { email, ...fields }
  const { version } = project
  const mail = await renderProject(app, { accountId, id: project.id, version, mergeData, links: previewLinks })
  const body: SendBody = {
    to: email,
    // An address that unsubscribed can still receive a test.
    type: 'transactional',
    subject: `[Test] ${fillSubject(subject ?? project.name, mergeData)}`,
    html: mail.html,
    text: mail.text,
  }
  const { result } = await sendMessage(app, accountId, body, { actor, countsCall: false })
  return result
}

import type { IncomingHttpHeaders } from 'node:http'
import { isbot } from 'isbot'
import type { App } from '../store/work.ts'
import { linksIn, loadTemplate } from '../studio/studio.ts'
import { recipientActor } from './engagement.answers.ts'
import { recordInteraction } from './engagement.record.ts'
import { loadSent, type SentMail } from './engagement.sent.ts'
import { filledLeaves } from './liveview.ts'

/*
 * Opens and clicks (decisions.md, Studio projects). Much of what asks for them is no person: mail programs that look ahead and
 * scanners that follow every link. What says so is kept as a machine's.
 */

/** What a call says of who makes it. */
export interface Visit {
  method: string
  headers: Readonly<IncomingHttpHeaders>
}

/** HEAD, a prefetch, or a user agent of the list of bots. */
export const isMachine = ({ method, headers }: Visit): boolean => {
  const purpose = `${headers['sec-purpose'] ?? ''} ${headers.purpose ?? ''}`
  return method === 'HEAD' || /\bprefetch\b/i.test(purpose) || isbot(headers['user-agent'])
}

/** Records that the mail was opened, once. Gives whether there is such a mail: its token opens none else. */
export const recordOpen = async (app: App, token: string, visit: Visit): Promise<boolean> => {
  const [accountId, messageId] = app.tokens.read('open', token, app.now().getTime()) ?? []
  const sent = accountId && messageId ? await loadSent(app, accountId, messageId) : null
  if (!sent) return false
  await app.work(sent.accountId, recipientActor, (work) =>
    recordInteraction(work, sent, {
      ...{ kind: 'open', blockId: null, value: null, isBot: isMachine(visit), onOther: 'keep' },
    }),
  )
  return true
}

/** The block of the mail that leads to the URL; null where no block does so by itself. */
const blockOf = (sent: SentMail, url: string): string | null => {
  const block = filledLeaves(sent).find(
    ({ type, props }) => (type === 'button' && props.url === url) || (type === 'image' && props.href === url),
  )
  return block?.id ?? null
}

/** Records a click, once for each link of a mail, and gives where it leads; null where no mail has such a link. */
export const followLink = async (app: App, token: string, visit: Visit): Promise<string | null> => {
  const [accountId, messageId, number] = app.tokens.read('click', token, app.now().getTime()) ?? []
  const sent = accountId && messageId ? await loadSent(app, accountId, messageId) : null
  if (!sent) return null
  const { projectId: id, projectVersion: version, mergeData } = sent
  const template = await loadTemplate(app, { accountId: sent.accountId, id, version })
  const url = linksIn(template, mergeData)[Number(number)]
  if (url === undefined) return null
  await app.work(sent.accountId, recipientActor, (work) =>
    recordInteraction(work, sent, {
      ...{ kind: 'click', blockId: blockOf(sent, url), value: url, link: Number(number) },
      ...{ isBot: isMachine(visit), onOther: 'keep' },
    }),
  )
  return url
}

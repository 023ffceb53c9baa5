import type { App } from '../../store/work.ts'
import { linksIn, loadTemplate } from '../../studio/studio.ts'
import { recipientWork } from '../engagement.recipient.ts'
import { isScanned, recordHoneypot } from '../engagement.scanners.ts'
import { loadSent, type SentMail } from '../engagement.sent.ts'
import { isMachine, type Visit } from '../engagement.visits.ts'
import { recordInteraction } from '../interactions/interactions.record.ts'
import { filledLeaves } from '../liveview/view.ts'

/*
 * Opens and clicks (docs/reference/studio.md#opens-and-clicks). Many requests come from programs, such as prefetching mail clients
 * and scanners that follow every link. Requests that can be recognised as such are stored as machine interactions.
 */

/** Records that an email was opened, once. Returns false if the token is not valid or its email was deleted. */
export const recordOpen = async (app: App, token: string, visit: Visit): Promise<boolean> => {
  const [accountId, messageId] = app.tokens.read('open', token, app.now().getTime()) ?? []
  const sent = accountId && messageId ? await loadSent(app, accountId, messageId) : null
  if (!sent) return false
  await recipientWork(app, sent, async (work) =>
    recordInteraction(work, sent, {
      kind: 'open',
      blockId: null,
      value: null,
      isBot: isMachine(visit, 'open') || (await isScanned(work, sent)),
      onOther: 'keep',
    }),
  )
  return true
}

/**
 * Records that a scanner followed the link that no person sees. Returns false if the token is not valid or its email
 * was deleted.
 */
export const followHoneypot = async (app: App, token: string): Promise<boolean> => {
  const [accountId, messageId] = app.tokens.read('honeypot', token, app.now().getTime()) ?? []
  const sent = accountId && messageId ? await loadSent(app, accountId, messageId) : null
  if (!sent) return false
  await recipientWork(app, sent, (work) => recordHoneypot(work, sent))
  return true
}

/** Returns the block that links to the URL, or null if it is a link inside a text or elsewhere. */
const blockOf = (sent: SentMail, url: string): string | null => {
  const block = filledLeaves(sent).find(
    ({ type, props }) => (type === 'button' && props.url === url) || (type === 'image' && props.href === url),
  )
  return block?.id ?? null
}

/** Records a click, once for each link of an email, and returns the link's URL, or null if the token is not valid. */
export const followLink = async (app: App, token: string, visit: Visit): Promise<string | null> => {
  const [accountId, messageId, number] = app.tokens.read('click', token, app.now().getTime()) ?? []
  const sent = accountId && messageId ? await loadSent(app, accountId, messageId) : null
  if (!sent) return null
  const { projectId: id, projectVersion: version, mergeData } = sent
  const template = await loadTemplate(app, { accountId: sent.accountId, id, version })
  const { url, written } = linksIn(template, mergeData).get(Number(number)) ?? {}
  // A link that can't be followed is not counted.
  if (url === undefined || !URL.canParse(url)) return null
  await recipientWork(app, sent, async (work) =>
    recordInteraction(work, sent, {
      kind: 'click',
      blockId: blockOf(sent, url),
      value: url,
      link: Number(number),
      written,
      isBot: isMachine(visit, 'click') || (await isScanned(work, sent)),
      onOther: 'keep',
    }),
  )
  return url
}

/*
 * A link in an email names itself, not its destination. Links must be short, must not be an open redirect and should
 * store nothing for each link. A token names the account, the message and the number of the link. The destination is
 * read from the version that was sent, filled with the message's merge data. The
 * request of an answer's link records nothing, since programs follow links too: the page's script submits the answer if a
 * person sees the page, otherwise a button does.
 */

import { requireHere } from '../accounts/accounts.ts'
import { coalesceCalls } from '../lib/coalesce.ts'
import { notFound } from '../lib/problem.ts'
import { findProjectMail, findProjectMails, type MessageKey, type ProjectMail } from '../messages/messages.ts'
import { isSharedFailure } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { type Content, type Links, loadVersion, numberLinks } from '../studio/studio.ts'

/** A sent email of a project, with the content that its recipient sees and answers. */
export interface SentMail extends ProjectMail {
  /** The content of the version that was sent, even if the project has changed or was deleted. */
  content: Content
}

type Reader = Pick<App, 'sql'>

const withContent = async ({ sql }: Reader, mail: ProjectMail | null): Promise<SentMail | null> => {
  if (!mail) return null
  const { accountId, projectId, projectVersion } = mail
  return { ...mail, content: await loadVersion({ sql, accountId }, projectId, projectVersion) }
}

/** Returns a sent email by its message id, or null if there is none, or its account was deleted. */
export const loadSent = async (app: Reader, accountId: string, messageId: string): Promise<SentMail | null> =>
  withContent(app, await findProjectMail(app, accountId, messageId))

const maxCallsPerStatement = 64
const findCoalesced = coalesceCalls(
  maxCallsPerStatement,
  (reader: Reader, keys: readonly MessageKey[]) => findProjectMails(reader, keys),
  { isShared: isSharedFailure },
)

/**
 * Returns the email of a live view's token; null if the token is not valid or the email was deleted. Calls that arrive while a
 * statement is under way share the next one.
 */
export const findSentByToken = async (
  app: Reader & Pick<App, 'tokens' | 'now' | 'database'>,
  token: string,
): Promise<SentMail | null> => {
  const [accountId, messageId] = app.tokens.read('liveview', token, app.now().getTime()) ?? []
  if (!accountId || !messageId) return null
  await requireHere(app, accountId)
  return withContent(app, await findCoalesced({ sql: app.sql }, app.database, '', { accountId, id: messageId }))
}

/** The message for emails whose content was dropped. */
export const noLongerKept = 'The content of this email is no longer kept'

/**
 * Returns the email of a live view's token, to show it or record an answer; null as in `findSentByToken`. Throws Problem
 * `not_found` if the email's content was dropped.
 */
export const findViewableByToken = async (...of: Parameters<typeof findSentByToken>): Promise<SentMail | null> => {
  const sent = await findSentByToken(...of)
  if (sent?.isDropped) throw notFound(noLongerKept)
  return sent
}

type Signer = Pick<App, 'tokens' | 'config'>

/** Returns the signed URL of an email's live view. */
export const viewUrl = ({ tokens, config }: Signer, accountId: string, messageId: string): string =>
  `${config.publicUrl}/v/${tokens.sign('liveview', [accountId, messageId], null)}`

/**
 * Returns the signed links of one email (docs/reference/studio.md#live-view). A link of the author is signed as its number in the
 * email and looked up there, so a token can't redirect to any other URL. An answer's link opens the page with that answer selected;
 * the request itself records nothing, because programs follow links too.
 */
export const linksOf = (
  app: Signer,
  accountId: string,
  messageId: string,
  { unsubscribe, postalAddress = null }: { unsubscribe: string | null; postalAddress?: string | null },
): Links => {
  const { tokens, config } = app
  const view = viewUrl(app, accountId, messageId)
  const numberOf = numberLinks()
  return {
    view,
    unsubscribe,
    honeypot: `${config.publicUrl}/t/h/${tokens.sign('honeypot', [accountId, messageId], null)}`,
    postalAddress,
    open: `${config.publicUrl}/t/o/${tokens.sign('open', [accountId, messageId], null)}.gif`,
    answer: (blockId, value) => `${view}?${new URLSearchParams({ block: blockId, value })}#${blockId}`,
    click(url, _written, isInText) {
      if (!/^https?:/i.test(url)) return url
      const number = numberOf(url, isInText)
      return `${config.publicUrl}/t/c/${tokens.sign('click', [accountId, messageId, String(number)], null)}`
    },
  }
}

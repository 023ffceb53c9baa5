import { coalesceCalls } from '../lib/coalesce.ts'
import { missing } from '../lib/problem.ts'
import { findProjectMail, findProjectMails, type MessageKey, type ProjectMail } from '../messages/messages.ts'
import { isSharedFailure } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { type Block, type Content, type LeafBlock, type Links, loadVersion } from '../studio/studio.ts'

/** A mail that was made of a project, with what it shows: what its recipient answers. */
export interface SentMail extends ProjectMail {
  /** The version that was sent, whatever became of the project. */
  content: Content
}

type Reader = Pick<App, 'sql'>

const withContent = async ({ sql }: Reader, mail: ProjectMail | null): Promise<SentMail | null> => {
  if (!mail) return null
  const { accountId, projectId, projectVersion } = mail
  return { ...mail, content: await loadVersion({ sql, accountId }, projectId, projectVersion) }
}

/** null where there is none, as for an account that is gone. */
export const loadSent = async (app: Reader, accountId: string, messageId: string): Promise<SentMail | null> =>
  withContent(app, await findProjectMail(app, accountId, messageId))

const mostAtOnce = 64
const findTogether = coalesceCalls(
  mostAtOnce,
  (reader: Reader, keys: readonly MessageKey[]) => findProjectMails(reader, keys),
  { isShared: isSharedFailure },
)

/**
 * The mail of a live view's token; null for a token that is not ours, was changed, or whose mail is gone. Those who ask while
 * others are told share the next statement.
 */
export const sentOfToken = async (
  app: Reader & Pick<App, 'tokens' | 'now' | 'database'>,
  token: string,
): Promise<SentMail | null> => {
  const [accountId, messageId] = app.tokens.read('liveview', token, app.now().getTime()) ?? []
  if (!accountId || !messageId) return null
  return withContent(app, await findTogether({ sql: app.sql }, app.database, '', { accountId, id: messageId }))
}

/** What a live view says of a mail whose content was dropped. */
export const noLongerKept = 'The content of this email is no longer kept'

/**
 * `sentOfToken` for who shows the mail or takes its answers. Throws Problem `missing` where its content was dropped, with a
 * sentence of its own.
 */
export const shownOfToken = async (...of: Parameters<typeof sentOfToken>): Promise<SentMail | null> => {
  const sent = await sentOfToken(...of)
  if (sent?.isDropped) throw missing(noLongerKept)
  return sent
}

/** Every block that holds no others, in the order of the mail. */
export const leavesOf = (blocks: readonly Block[]): LeafBlock[] =>
  blocks.flatMap((block) => ('children' in block ? leavesOf(block.children) : [block]))

type Signer = Pick<App, 'tokens' | 'config'>

/** Where the live view of a mail is. */
export const viewUrl = ({ tokens, config }: Signer, accountId: string, messageId: string): string =>
  `${config.publicUrl}/v/${tokens.sign('liveview', [accountId, messageId], null)}`

/**
 * The signed links of one mail (decisions.md, Studio projects). A link that the author wrote is named by its number in the
 * mail, in which it is looked up again: it leads nowhere else. An answer's link shows the page with that answer chosen; it does
 * nothing by itself, since programs follow links too.
 */
export const linksOf = (app: Signer, accountId: string, messageId: string, unsubscribe: string | null): Links => {
  const { tokens, config } = app
  const view = viewUrl(app, accountId, messageId)
  const numbers = new Map<string, number>()
  return {
    view,
    unsubscribe,
    open: `${config.publicUrl}/t/o/${tokens.sign('open', [accountId, messageId], null)}.gif`,
    answer: (blockId, value) => `${view}?${new URLSearchParams({ block: blockId, value })}#${blockId}`,
    click(url) {
      if (!/^https?:/i.test(url)) return url
      const number = numbers.getOrInsertComputed(url, () => numbers.size)
      return `${config.publicUrl}/t/c/${tokens.sign('click', [accountId, messageId, String(number)], null)}`
    },
  }
}

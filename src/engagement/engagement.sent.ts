import { findProjectMail, type ProjectMail } from '../messages/messages.ts'
import type { App } from '../store/work.ts'
import { type Block, type Content, type LeafBlock, type Links, loadVersion } from '../studio/studio.ts'

/** A mail that was made of a project, with what it shows: what its recipient answers. */
export interface SentMail extends ProjectMail {
  /** The version that was sent, whatever became of the project. */
  content: Content
}

type Reader = Pick<App, 'sql'>

/** null where there is none, as for an account that is gone. */
export const loadSent = async (app: Reader, accountId: string, messageId: string): Promise<SentMail | null> => {
  const mail = await findProjectMail(app, accountId, messageId)
  if (!mail) return null
  const content = await loadVersion({ sql: app.sql, accountId }, mail.projectId, mail.projectVersion)
  return { ...mail, content }
}

/** The mail of a live view's token; null for a token that is not ours, was changed, or whose mail is gone. */
export const sentOfToken = async (
  app: Reader & Pick<App, 'tokens' | 'now'>,
  token: string,
): Promise<SentMail | null> => {
  const [accountId, messageId] = app.tokens.read('liveview', token, app.now().getTime()) ?? []
  return accountId && messageId ? loadSent(app, accountId, messageId) : null
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

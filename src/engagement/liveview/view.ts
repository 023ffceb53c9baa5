import { notFound } from '../../lib/problem.ts'
import { fillTags, tagValue } from '../../lib/tags.ts'
import type { App } from '../../store/work.ts'
import {
  type Block,
  type FullTheme,
  fillUrl,
  fullTheme,
  type LeafBlock,
  leavesOf,
  type MarkupPage,
  markupHtml,
  markupPage,
  shownBlocks,
  textHtml,
  type UrlKind,
  urlParts,
} from '../../studio/studio.ts'
import type { SentMail } from '../engagement.sent.ts'
import type { Answered, BlockKind, Reader } from '../interactions/blocks.ts'
import { type AnswerState, readState } from '../interactions/interactions.record.ts'

/** The live view of one email (docs/reference/api.md#live-view). */
export interface LiveView {
  project: { id: string; name: string }
  theme: FullTheme
  blocks: Block[]
  /** `id` is the id of the message. */
  recipient: { id: string; fields: Record<string, string> }
  state: AnswerState
  /** epoch ms */
  createdAt: number
}

type Read = (field: string) => string | undefined

const reader =
  ({ mergeData }: SentMail): Read =>
  (field) =>
    Object.hasOwn(mergeData, field) ? mergeData[field] : undefined

/** Returns a filled URL, or an empty text if it is not safe. */
const filledUrl = (url: string, read: Read, kind: UrlKind): string =>
  fillUrl(urlParts(url), (tag) => tagValue(tag, read), kind) ?? ''

const urlKinds = new Map<string, UrlKind>([
  ['src', 'image'],
  ['href', 'link'],
  ['url', 'link'],
])

/** Returns the props with all merge tags filled, at any depth. */
const filledProps = (value: unknown, read: Read, name = ''): unknown => {
  if (typeof value === 'string') {
    const kind = urlKinds.get(name)
    return kind ? filledUrl(value, read, kind) : fillTags(value, read)
  }
  if (Array.isArray(value)) return value.map((item) => filledProps(item, read))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filledProps(item, read, key)]))
}

const filledLeaf = (block: LeafBlock, read: Read): LeafBlock =>
  ({ ...block, props: filledProps(block.props, read) }) as LeafBlock

/**
 * Returns the blocks without children that the email shows, with their merge tags filled. Without its merge data, which was
 * dropped, an email shows all.
 */
export const filledLeaves = (sent: SentMail): LeafBlock[] => {
  const read = reader(sent)
  const { content, isDropped, mergeData, dueAt } = sent
  const blocks = isDropped ? content.blocks : shownBlocks(content.blocks, mergeData, dueAt)
  return leavesOf(blocks).map((block) => filledLeaf(block, read))
}

/** Returns the HTML of the texts in an email by block id. */
export const textsOf = async ({ content, mergeData }: SentMail): Promise<ReadonlyMap<string, string>> => {
  const texts = new Map<string, string>()
  for (const { id, type, props } of leavesOf(content.blocks))
    if (type === 'text') texts.set(id, await textHtml(props.text, mergeData))
  return texts
}

/** Returns the `html` blocks that an email shows by block id. `levels` are those of the headings before them. */
export const markupsOf = async (
  { content, mergeData, dueAt }: SentMail,
  levels: ReadonlyMap<string, number>,
  isShown: (src: string) => boolean,
): Promise<ReadonlyMap<string, MarkupPage>> => {
  const markups = new Map<string, MarkupPage>()
  for (const { id, type, props } of leavesOf(shownBlocks(content.blocks, mergeData, dueAt))) {
    const page = { last: levels.get(id)!, name: `html-${id}`, isShown }
    if (type === 'html') markups.set(id, await markupPage(props.html, mergeData, page))
  }
  return markups
}

/** Returns an email as its recipient sees it now, for a program or for the page. */
export const showLiveView = async (
  app: App,
  sent: SentMail,
  kinds: readonly BlockKind[],
  to: Reader = 'program',
): Promise<LiveView> => {
  const read = reader(sent)
  const fill = async (blocks: readonly Block[]): Promise<Block[]> =>
    Promise.all(
      blocks.map(async (block): Promise<Block> => {
        if ('children' in block) return { ...block, children: await fill(block.children) }
        // Values of merge fields are no markup.
        if (block.type === 'html')
          return { ...block, props: { html: await markupHtml(block.props.html, sent.mergeData) } }
        const filled = filledLeaf(block, read)
        const kind = kinds.find(({ type }) => type === filled.type)
        if (!kind?.view) return filled
        return {
          ...filled,
          props: { ...filled.props, ...(await kind.view(app, sent, filled as never, to)) },
        } as LeafBlock
      }),
    )
  const [blocks, state] = await Promise.all([
    fill(shownBlocks(sent.content.blocks, sent.mergeData, sent.dueAt)),
    readState(app, sent),
  ])
  const { logo, ...theme } = fullTheme(sent.content.theme)
  return {
    project: { id: sent.projectId, name: fillTags(sent.content.name, read) },
    theme: { ...theme, ...(logo && { logo: filledUrl(logo, read, 'image') }) },
    blocks,
    recipient: { id: sent.id, fields: sent.mergeData },
    state,
    createdAt: sent.createdAt,
  }
}

/**
 * Records the recipient's answer to a block. Throws Problem `not_found` for a block that can't be answered, and the Problems of
 * the block's kind (`BlockKind.answer`).
 */
export const answerBlock = async (
  app: App,
  sent: SentMail,
  kinds: readonly BlockKind[],
  { blockId, value }: { blockId: string; value: unknown },
): Promise<Answered> => {
  const block = filledLeaves(sent).find(({ id }) => id === blockId)
  const kind = block && kinds.find(({ type }) => type === block.type)
  if (!kind) throw notFound('There is no such block')
  return kind.answer(app, sent, block as never, value)
}

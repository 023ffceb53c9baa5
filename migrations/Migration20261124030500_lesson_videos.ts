import { Migration } from '@mikro-orm/migrations'
import create, { type MarkdownIt, type Token } from 'markdown-it'

/*
 * How this version renders lessons. It is a copy of src/courses/courses.markdown.ts, because a migration has the same result in all
 * later versions.
 */

/** A reference repeats its URL in each link, so its length is multiplied. */
const urlMaxLength = 2_000
const htmlMaxLength = 1_000_000

/** Only absolute addresses: a relative one would lead into the portal, without its session. */
const isLinked = (url: string): boolean => url.length <= urlMaxLength && /^(?:https?:\/\/[^/]|mailto:|tel:)/i.test(url)

const linkAttributes = (href: string): [string, string][] =>
  /^http/i.test(href)
    ? [
        ['href', href],
        ['target', '_blank'],
        ['rel', 'noopener noreferrer nofollow'],
      ]
    : [['href', href]]

interface Maker {
  Token: new (type: string, tag: string, nesting: -1 | 0 | 1) => Token
  md: MarkdownIt
}

const textToken = (make: Maker, content: string): Token => {
  const token = new make.Token('text', '', 0)
  token.content = content
  return token
}

const urlOf = (token: Token, attribute: string): string => String(token.attrGet(attribute) ?? '')

/** Returns a link to a picture, in a link only its description: links can't contain links. */
const insteadOf = (make: Maker, image: Token, isInLink: boolean): Token[] => {
  const url = urlOf(image, 'src')
  const alt = make.md.renderer.renderInlineAsText(image.children ?? [], make.md.options, {}).trim()
  const label = textToken(make, alt === '' ? url : alt)
  if (isInLink) return [label]
  const open = new make.Token('link_open', 'a', 1)
  open.attrs = linkAttributes(url)
  return [open, label, new make.Token('link_close', 'a', -1)]
}

const withoutImages = (make: Maker, tokens: readonly Token[]): Token[] => {
  let isInLink = false
  return tokens.flatMap((token) => {
    if (token.type === 'image') return insteadOf(make, token, isInLink)
    if (token.type === 'link_open') {
      isInLink = true
      token.attrs = linkAttributes(urlOf(token, 'href'))
    }
    if (token.type === 'link_close') isInLink = false
    return token
  })
}

/**
 * Returns a function that maps an author's levels of headings, in their order, to levels below the page's h1. It skips none, because
 * screen readers report a skipped level as a missing part.
 */
const headingLevels = () => {
  const open: number[] = []
  return (level: number): number => {
    while (open.length > 0 && open.at(-1)! >= level) open.pop()
    open.push(level)
    return Math.min(open.length + 1, 6)
  }
}

/** Changes the tokens of a document to what a lesson shows. */
const adapt = (make: Maker & { tokens: Token[] }): void => {
  const levelOf = headingLevels()
  let tag = ''
  for (const token of make.tokens) {
    if (token.type === 'heading_open') tag = `h${levelOf(Number(token.tag.slice(1)))}`
    if (token.type === 'heading_open' || token.type === 'heading_close') token.tag = tag
    // The language of a code block would become a class.
    if (token.type === 'fence') token.info = ''
    if (token.children) token.children = withoutImages(make, token.children)
  }
}

const createRenderer = (): MarkdownIt => {
  const md = create('commonmark', { html: false, breaks: true, xhtmlOut: false })
  md.validateLink = isLinked
  md.core.ruler.push('lesson', adapt)
  return md
}

const renderer = createRenderer()

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Shows a content that can't be rendered as it was shown before. */
const asText = (content: string): string => {
  const escaped = content.replace(/[&<>"']/g, (character) => escapes[character]!)
  return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>\n`
}

const render = (content: string): string => {
  const html = renderer.render(content)
  return html.length > htmlMaxLength ? asText(content) : html
}

/** Lessons have a video and their content as HTML, which is rendered here for existing ones. Members name themselves on certificates. */
export class Migration20261124030500_lesson_videos extends Migration {
  static readonly change = 'expand'
  static readonly batches = 'lessons'
  private last = ['', '']

  override isTransactional(): boolean {
    return false
  }

  override up(): void {
    this.addSql(
      `alter table "lessons" add column if not exists "html" text not null default '', add column if not exists "video_url" text null`,
    )
    this.addSql(`alter table "course_completions" add column if not exists "name" text null`)
  }

  async batch(): Promise<number> {
    const lessons = (await this.execute(
      `select "account_id" as account, "id", "content" from "lessons"
       where ("account_id", "id") > (?, ?) and "html" = '' order by "account_id", "id" limit 100`,
      this.last,
    )) as unknown as { account: string; id: string; content: string }[]
    for (const { account, id, content } of lessons) {
      // An author may have changed the lesson since.
      await this.execute(
        `update "lessons" set "html" = ? where "account_id" = ? and "id" = ? and "html" = '' and "content" = ?`,
        [render(content), account, id, content],
      )
      this.last = [account, id]
    }
    return lessons.length
  }

  override down(): void {
    this.addSql(`alter table "lessons" drop column "html", drop column "video_url"`)
    this.addSql(`alter table "course_completions" drop column "name"`)
  }
}

import { createCache } from '../lib/cache.ts'
import { escapeHtml } from '../lib/escape-html.ts'
import { noSuch } from '../lib/problem.ts'
import { tagParts } from '../lib/tags.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { App } from '../store/work.ts'
import type { Content } from './studio.blocks.ts'
import { projectVersions } from './studio.columns.ts'
import type { Sanitized } from './studio.sanitize.ts'
import {
  fillHtml,
  fillTemplate,
  type Links,
  type Mail,
  type MergeData,
  type Part,
  type Template,
} from './studio.template.ts'

/** Increase it with every change of the rendered output: stored templates of a lower revision are rendered again. */
const renderer = 10

/** A process caches the templates that it used last, about 25 kB each. Templates over `maxKeptLength` characters are not cached. */
const maxKept = 100
const maxKeptLength = 250_000

/** Identifies a version; `id` is the project's. */
interface VersionRef {
  accountId: string
  id: string
  version: number
}

const render = async (content: Content): Promise<Template> => {
  const [{ renderHtml }, { renderText }] = await Promise.all([import('./studio.html.ts'), import('./studio.text.ts')])
  return {
    subject: tagParts(content.name),
    preheader: tagParts(content.preheader ?? ''),
    html: await renderHtml(content),
    text: renderText(content),
  }
}

const noStyle = () => ''
const plainLook = { paragraph: noStyle, list: noStyle, item: '', link: ' rel="noopener noreferrer"', code: '' }

/** Returns the HTML of a text without inline styles, filled with merge data. Its values are no markup. */
export const textHtml = async (text: string, data: MergeData): Promise<string> => {
  const { richHtml } = await import('./studio.rich.ts')
  return fillHtml(richHtml(text, plainLook), data)
}

/** The HTML of an `html` block as a page shows it. */
export interface MarkupPage {
  html: string
  /** The author's styles: a page's policy allows no `style` attributes. */
  style: string
  setsColors: boolean
}

/** The process keeps the trees of the blocks that pages showed last, of up to 1 MB each: 50,000 characters take 40 ms. */
const recentMarkup = createCache<Sanitized>(20)

const sanitizedMarkup = (html: string): Promise<Sanitized> =>
  recentMarkup(html, async () => (await import('./studio.sanitize.ts')).sanitized(html))

/** Returns the HTML of an `html` block, filled with merge data, for programs. Its values are no markup. */
export const markupHtml = async (html: string, data: MergeData): Promise<string> => {
  const { markupParts } = await import('./studio.markup.ts')
  const style = (own: string) => ` style="${escapeHtml(own)}"`
  const look = { above: 0, last: 0, link: (own: string) => own && style(own), style, isShown: () => true }
  return fillHtml(markupParts(await sanitizedMarkup(html), look), data)
}

/**
 * Returns an `html` block for a page below its h1, filled with merge data. `last` is the level of the heading before it, `name` the class
 * of the block, which is unique on the page. Pictures for which `isShown` returns false are replaced by their alternative text.
 */
export const markupPage = async (
  html: string,
  data: MergeData,
  { last, name, isShown }: { last: number; name: string; isShown(src: string): boolean },
): Promise<MarkupPage> => {
  const { markupParts, setsColors } = await import('./studio.markup.ts')
  const classes = new Map<string, string>()
  const style = (own: string) => ` class="${classes.getOrInsertComputed(own, () => `${name}-${classes.size}`)}"`
  const link = (own: string) => ` rel="noopener noreferrer"${own && style(own)}`
  const safe = await sanitizedMarkup(html)
  const parts = markupParts(safe, { above: 1, last, link, style, isShown })
  const rules = [...classes].map(([own, one]) => `.${name} .${one} { ${own} }`)
  return { html: fillHtml(parts, data), style: rules.join('\n'), setsColors: setsColors(safe) }
}

const versionKey = types(projectVersions, 'accountId', 'projectId', 'version')

const readTemplate = preparedStatement(
  'load-template',
  {
    row: { ...types(projectVersions, 'content'), template: typed<Template | null>('jsonb') },
    parameters: { ...versionKey, renderer: 'int4' },
  },
  `select case when renderer = :renderer then null else content end as content,
     case when renderer = :renderer then template end as template
   from project_versions where account_id = :accountId and project_id = :projectId and version = :version`,
)

const storeTemplate = statement(
  'store-template',
  { parameters: { ...versionKey, template: 'jsonb', renderer: 'int4' } },
  `update project_versions set template = :template, renderer = :renderer
   where account_id = :accountId and project_id = :projectId and version = :version
     and (renderer is null or renderer < :renderer)`,
)

const load = async ({ sql }: Pick<App, 'sql'>, { accountId, id, version }: VersionRef): Promise<Template> => {
  const key = { accountId, projectId: id, version }
  const [row] = await sql(readTemplate, { ...key, renderer })
  if (!row) throw noSuch('project', id, { hint: 'svc projects list' })
  if (row.template) return row.template
  const template = await render(row.content)
  await sql(storeTemplate, { ...key, template: JSON.stringify(template), renderer })
  return template
}

const lengthOfParts = (parts: readonly Part[]): number =>
  parts.reduce((length, part) => {
    if (typeof part === 'string') return length + part.length
    return length + ('parts' in part ? lengthOfParts(part.parts) : 0)
  }, 0)

const lengthOf = ({ html, text }: Template): number => lengthOfParts(html) + lengthOfParts(text)

const recent = createCache<Template>(maxKept, (template) => lengthOf(template) <= maxKeptLength)

/** Returns the template of a version. It is rendered at its first use and stored for all processes. Throws Problem `not_found`. */
export const loadTemplate = (app: Pick<App, 'sql'>, ref: VersionRef): Promise<Template> =>
  recent(JSON.stringify([ref.accountId, ref.id, ref.version]), () => load(app, ref))

interface Rendering extends VersionRef {
  mergeData: MergeData
  links: Links
  /** The time to which conditions refer, in epoch ms. */
  nowMs: number
}

/**
 * Returns one recipient's email from a version of a project (docs/reference/studio.md#rendering). After the version's first use this is
 * substitution only. `subject` is the project's name on one line, not truncated. Throws Problem `not_found`.
 */
export const renderProject = async (app: Pick<App, 'sql'>, rendering: Rendering): Promise<Mail> =>
  fillTemplate(await loadTemplate(app, rendering), rendering)

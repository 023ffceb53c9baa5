import { createCache } from '../lib/cache.ts'
import { noSuch } from '../lib/problem.ts'
import { tagParts } from '../lib/tags.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import type { Content } from './studio.blocks.ts'
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
const renderer = 7

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

const readTemplate = preparedStatement<{ content: Content; template: Template | null }>(
  'load-template',
  { content: 'jsonb', template: 'jsonb' },
  `select case when renderer = $4 then null else content end as content, case when renderer = $4 then template end as template
   from project_versions where account_id = $1 and project_id = $2 and version = $3`,
)

const storeTemplate = statement(
  'store-template',
  {},
  `update project_versions set template = $4, renderer = $5 where account_id = $1 and project_id = $2 and version = $3
     and (renderer is null or renderer < $5)`,
)

const load = async ({ sql }: Pick<App, 'sql'>, { accountId, id, version }: VersionRef): Promise<Template> => {
  const key = [accountId, id, version]
  const [row] = await sql(readTemplate, [...key, renderer])
  if (!row) throw noSuch('project', id, { hint: 'svc projects list' })
  if (row.template) return row.template
  const template = await render(row.content)
  await sql(storeTemplate, [...key, JSON.stringify(template), renderer])
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

export interface Rendering extends VersionRef {
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

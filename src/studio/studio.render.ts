import { missing } from '../lib/problem.ts'
import { createRecent } from '../lib/recent.ts'
import { tagParts } from '../lib/tags.ts'
import type { App } from '../store/work.ts'
import type { Content } from './studio.blocks.ts'
import { fillTemplate, type Links, type Mail, type MergeData, type Template } from './studio.template.ts'

/** Raised with every change of what the same content is rendered to: what is stored of a lower one is rendered anew. */
const renderer = 1

/** A process keeps the templates that it used last, some 25 kB each; one beyond all measure is read again each time. */
const maxKept = 100
const maxKeptLength = 250_000

/** Which version of which project, of which account. */
export interface VersionRef {
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

interface Row {
  content: Content
  template: Template | null
  renderer: number | null
}

const load = async ({ sql }: Pick<App, 'sql'>, { accountId, id, version }: VersionRef): Promise<Template> => {
  const key = [accountId, id, version]
  const [row] = await sql<Row>(
    `select case when renderer = $4 then null else content end as content, case when renderer = $4 then template end as template
     from project_versions where account_id = $1 and project_id = $2 and version = $3`,
    [...key, renderer],
    'load-template',
  )
  if (!row) throw missing(`There is no project ${id}`, { hint: 'svc projects list' })
  if (row.template) return row.template
  const template = await render(row.content)
  await sql(
    `update project_versions set template = $4, renderer = $5 where account_id = $1 and project_id = $2 and version = $3
       and (renderer is null or renderer < $5)`,
    [...key, JSON.stringify(template), renderer],
  )
  return template
}

const lengthOf = ({ html, text }: Template): number =>
  [...html, ...text].reduce((length, part) => length + (typeof part === 'string' ? part.length : 0), 0)

const recent = createRecent<Template>(maxKept, (template) => lengthOf(template) <= maxKeptLength)

/**
 * The template of a version: rendered at its first use, once for all processes, since it is stored. Throws Problem `missing`.
 */
export const loadTemplate = (app: Pick<App, 'sql'>, ref: VersionRef): Promise<Template> =>
  recent(JSON.stringify([ref.accountId, ref.id, ref.version]), () => load(app, ref))

export interface Rendering extends VersionRef {
  mergeData: MergeData
  links: Links
}

/**
 * One recipient's mail from a version of a project (decisions.md, Send and Studio projects): substitution only, but at the
 * version's first use. `subject` is the default one, one line that is not cut. Throws Problem `missing`.
 */
export const renderProject = async (app: Pick<App, 'sql'>, rendering: Rendering): Promise<Mail> =>
  fillTemplate(await loadTemplate(app, rendering), rendering.mergeData, rendering.links)

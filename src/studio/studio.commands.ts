import { type CommandList, command } from '../cli/define.ts'
import { applying, argument, confirmed, present } from '../cli/flags.ts'
import { readDocumentsOf } from '../cli/input.ts'
import { jsonText, printApplied, printWithResults, properties } from '../cli/output.ts'
import { quantity } from '../lib/quantity.ts'
import type { Work } from '../store/work.ts'
import { renderCommand } from './render.commands.ts'
import type { AppliedProject, ProjectDetail, ProjectView } from './studio.ts'

const columns = properties<ProjectView>('id', 'name', 'version', 'updatedAt')

const appliedColumns = properties<AppliedProject>('id', 'name', 'outcome', 'version')

const fileOf = ({ id, content }: ProjectDetail): string => jsonText({ id, ...content }, 2)

/** Returns the results of a project's emails, and what stands beside them: another feature has them. */
type ReadResults = (
  work: Work,
  projectId: string,
) => Promise<{ results: Parameters<typeof printWithResults>[2]; beside: object }>

/** The commands `svc projects`. */
export const commandsOf = (readResults: ReadResults): CommandList => [
  command({
    path: 'projects apply',
    summary:
      'Create or update projects from a JSON or YAML file, matched by id if the document has one, otherwise by name',
    examples: ['svc projects apply -f welcome.yaml', 'svc projects apply -f welcome.yaml --dry-run'],
    flags: applying,
    run: async ({ account, app, out, work }, { file, dryRun = false }) => {
      const { applyProjects, loadTemplate } = await import('./studio.ts')
      const documents = await readDocumentsOf(file)
      const applied = await work((w) => applyProjects(w, documents, { dryRun }))
      // Loading a template renders and stores it: the first email does not wait for it, and the daemon does not load MJML.
      const accountId = (await account()).id
      if (!dryRun) for (const { id, version } of applied) await loadTemplate(app, { accountId, id: id!, version })
      await printApplied(out, 'projects', applied, appliedColumns, dryRun)
    },
  }),

  command({
    path: 'projects list',
    isDefault: true,
    summary: 'List the projects, most recently updated first',
    examples: ['svc projects', 'svc projects list --json'],
    run: async ({ out, work }) => {
      const { listProjects } = await import('./studio.ts')
      await out.list('projects', await work(listProjects), columns)
    },
  }),

  command({
    path: 'projects show',
    summary: 'Print the newest version of a project in the format of apply',
    examples: [
      'svc projects show Welcome',
      'svc projects show Welcome > welcome.json',
      'svc projects show Welcome --stats',
    ],
    arguments: [argument('<project>', 'id or name')],
    flags: { stats: present('show the results of its emails instead: opens, clicks, answers, bounces by day') },
    run: async ({ out, work }, ref, { stats }) => {
      const { loadProject } = await import('./studio.ts')
      const project = await work((w) => loadProject(w, ref))
      const { content, ...view } = project
      if (stats) {
        const isDrawn = out.format === 'table' && !out.fields
        const shown = isDrawn ? view : { ...view, ...content }
        const { results, beside } = await work((w) => readResults(w, project.id))
        return printWithResults(out, { ...shown, ...beside }, results)
      }
      if (!out.fields && out.isText) out.line(fileOf(project))
      else out.one({ ...view, ...content })
    },
  }),

  renderCommand,

  command({
    path: 'projects delete',
    summary: 'Delete a project and its webhook; sent emails keep their content',
    examples: ['svc projects delete Welcome --dry-run', 'svc projects delete Welcome --yes'],
    arguments: [argument('<project>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ out, work, confirm }, ref, flags) => {
      const { deleteProject, findProject, planDeletion } = await import('./studio.ts')
      const { id, name, ...uses } = await work(async (w) => {
        const project = await findProject(w, ref)
        return { id: project.id, name: project.name, ...(await planDeletion(w, project.id)) }
      })
      const users = `${quantity(uses.bindings, 'binding')} and ${quantity(uses.broadcasts, 'unsent broadcast')}`
      const webhook = uses.webhook ? ' and its webhook' : ''
      const what = `delete the project ${name}${webhook} (used by ${users}; sent emails keep their content)`
      const isConfirmed = await confirm(what, flags, { id, name, ...uses })
      if (!isConfirmed) return
      await work((w) => deleteProject(w, id))
      out.one({ id, name })
    },
  }),
]

import type { Command } from 'commander'
import type { Cli, CommandSet } from '../cli/command.ts'
import { type Column, jsonText } from '../cli/output.ts'
import { readSource } from '../cli/source.ts'
import { addRender } from './render.commands.ts'
import type { AppliedProject, ProjectDetail, ProjectView } from './studio.ts'

const columns: Column<ProjectView>[] = [
  ['ID', (project) => project.id],
  ['NAME', (project) => project.name],
  ['VERSION', (project) => project.version],
  ['UPDATED', (project) => new Date(project.updatedAt)],
]

const appliedColumns: Column<AppliedProject>[] = [
  ['ID', (project) => project.id],
  ['NAME', (project) => project.name],
  ['OUTCOME', (project) => project.outcome],
  ['VERSION', (project) => project.version],
]

const addApply = (noun: Command, cli: Cli): void => {
  noun
    .command('apply')
    .description('Make projects of a JSON or YAML file, or update them: by id where it has one, else by name')
    .option('-f, --file <file>', 'the file, or - for standard input; several documents are applied all or nothing')
    .option('--dry-run', 'check the file and say what would change')
    .action(
      cli.run(async ({ account, app, out, work, require }, flags: { file?: string; dryRun?: boolean }) => {
        const { file } = await require({ file: flags.file })
        const [{ applyProjects, loadTemplate }, { maxFileBytes, readDocuments }] = await Promise.all([
          import('./studio.ts'),
          import('../lib/documents.ts'),
        ])
        const documents = readDocuments(await readSource(file, maxFileBytes))
        const dryRun = flags.dryRun ?? false
        const applied = await work((w) => applyProjects(w, documents, { dryRun }))
        // Rendered here, the first mail need not wait for it, and the daemon does without MJML.
        const accountId = (await account()).id
        if (!dryRun) for (const { id, version } of applied) await loadTemplate(app, { accountId, id: id!, version })
        if (applied.length === 1) out.one({ ...applied[0]!, ...(dryRun && { dryRun }) })
        else await out.list('projects', applied, appliedColumns)
        if (dryRun) out.note('Nothing was changed.')
      }),
    )
}

/** The project as a file that `apply` takes. */
const fileOf = ({ id, content }: ProjectDetail): string => jsonText({ id, ...content }, 2)

const addReads = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the projects, most recently updated first')
    .action(
      cli.run(async ({ out, work }) => {
        const { listProjects } = await import('./studio.ts')
        await out.list('projects', await work(listProjects), columns)
      }),
    )

  noun
    .command('show')
    .description('Print the newest version of a project, as apply takes it')
    .argument('<project>', 'id or name')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { loadProject } = await import('./studio.ts')
        const project = await work((w) => loadProject(w, ref))
        const { content, ...view } = project
        if (!out.fields && (out.format === 'table' || out.format === 'plain')) out.line(fileOf(project))
        else out.one({ ...view, ...content })
      }),
    )
}

const addDelete = (noun: Command, cli: Cli): void => {
  noun
    .command('delete')
    .description('Delete a project; mails that were sent keep what they were made of')
    .argument('<project>', 'id or name')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would go')
    .action(
      cli.run(async ({ out, work, confirm }, ref: string, flags: { yes?: boolean; dryRun?: boolean }) => {
        const { deleteProject, findProject } = await import('./studio.ts')
        const { id, name } = await work((w) => findProject(w, ref))
        const isMeant = await confirm(`delete the project ${name}; mails that were sent stay as they are`, flags, {
          id,
          name,
        })
        if (!isMeant) return
        await work((w) => deleteProject(w, id))
        out.one({ id, name })
      }),
    )
}

/** `svc projects` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('projects')
  addApply(noun, cli)
  addReads(noun, cli)
  addRender(noun, cli)
  addDelete(noun, cli)
}

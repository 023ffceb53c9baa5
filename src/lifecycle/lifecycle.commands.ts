import type { CommandSet } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { BindingView } from './lifecycle.ts'

const columns: Column<BindingView>[] = [
  ['SUBJECT', (binding) => binding.subject],
  ['EVENT', (binding) => binding.event],
  ['PROJECT', (binding) => binding.projectId],
  ['NAME', (binding) => binding.projectName],
]

/** `svc bindings` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bindings')

  noun
    .command('list', { isDefault: true })
    .description('List the bindings')
    .action(
      cli.run(async ({ out, work }) => {
        const { listBindings } = await import('./lifecycle.ts')
        const bindings = await work(listBindings)
        await out.list('bindings', bindings, columns, null, { id: ({ subject, event }) => `${subject} ${event}` })
      }),
    )

  noun
    .command('set')
    .description('Have the mail of an event made of a project, from the next event on')
    .argument('<subject>', 'course:<id> or webinar:<id>')
    .argument('<event>', 'enrolled, completed or reminder of a course; registered or reminder of a webinar')
    .argument('<project>', 'id or name')
    .action(
      cli.run(async ({ app, out, work }, subject: string, event: string, project: string) => {
        const { setBinding } = await import('./lifecycle.ts')
        out.one(await work((w) => setBinding(app, w, subject, event, project)))
      }),
    )

  noun
    .command('unset')
    .description('Send the plain mail again')
    .argument('<subject>', 'course:<id> or webinar:<id>')
    .argument('<event>')
    .action(
      cli.run(async ({ out, work }, subject: string, event: string) => {
        const { unsetBinding } = await import('./lifecycle.ts')
        out.one({ subject, event, removed: await work((w) => unsetBinding(w, subject, event)) })
      }),
    )
}

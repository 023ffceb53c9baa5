import { type CommandSet, changing, examples } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { BindingView } from './lifecycle.ts'

const columns: Column<BindingView>[] = [
  ['SUBJECT', (binding) => binding.subject],
  ['EVENT', (binding) => binding.event],
  ['PROJECT', (binding) => binding.projectId],
  // On a terminal PROJECT shows the name.
  ['NAME', (binding) => binding.projectName, 'pipe'],
  ['SUBJECT LINE', (binding) => binding.subjectLine],
  ['SENDER', (binding) => binding.sender],
]

interface SetFlags {
  subject?: string
  sender?: string
}

/** Adds `svc bindings`. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bindings')

  noun
    .command('list', { isDefault: true })
    .description('List the bindings')
    .addHelpText('after', examples('svc bindings', 'svc bindings list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listBindings } = await import('./lifecycle.ts')
        const bindings = await work(listBindings)
        await out.list('bindings', bindings, columns, null, { id: ({ subject, event }) => `${subject} ${event}` })
      }),
    )

  changing(
    noun
      .command('set')
      .description('Use a project for the email of an event, from the next event on')
      .addHelpText(
        'after',
        examples(
          'svc bindings set webinar:web_01m82xtw6hfsym1hnj3zvrm5vk reminder Reminder',
          'svc bindings set course:crs_01m82xtxmmvg2qj0qr50gtn6ay enrolled Welcome',
        ),
      )
      .argument('<subject>', 'course:<id> or webinar:<id>')
      .argument(
        '<event>',
        'enrolled, completed or reminder of a course; registered, reminder, attended or missed of a webinar',
      )
      .argument('<project>', 'id or name')
      .option('--subject <subject>', 'the subject of its emails (default: the name of the project)')
      .option('--sender <id|address>', 'the sender of its emails (default: the account’s default sender)'),
  ).action(
    cli.run(async ({ app, out, work }, subject: string, event: string, project: string, flags: SetFlags) => {
      const { setBinding } = await import('./lifecycle.ts')
      out.one(await work((w) => setBinding(app, w, subject, event, project, flags)))
    }),
  )

  changing(
    noun
      .command('unset')
      .description('Go back to the plain email')
      .addHelpText(
        'after',
        examples(
          'svc bindings unset webinar:web_01m82xtw6hfsym1hnj3zvrm5vk reminder --dry-run',
          'svc bindings unset webinar:web_01m82xtw6hfsym1hnj3zvrm5vk reminder --yes',
        ),
      )
      .argument('<subject>', 'course:<id> or webinar:<id>')
      .argument('<event>'),
  ).action(
    cli.run(async ({ out, work }, subject: string, event: string) => {
      const { unsetBinding } = await import('./lifecycle.ts')
      out.one({ subject, event, removed: await work((w) => unsetBinding(w, subject, event)) })
    }),
  )
}

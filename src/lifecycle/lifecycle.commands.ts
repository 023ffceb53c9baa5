import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, text } from '../cli/flags.ts'
import { type Column, properties } from '../cli/output.ts'
import type { BindingView } from './lifecycle.ts'

const columns: Column<BindingView>[] = [
  ...properties<BindingView>('subject', 'event', 'projectId'),
  // On a terminal PROJECT shows the name.
  ['NAME', (binding) => binding.projectName, 'pipe'],
  ...properties<BindingView>('subjectLine', 'sender'),
]

const events = async () => (await import('./lifecycle.bindings.ts')).lifecycleEvents
const subject = argument('<subject>', 'course:<id> or webinar:<id>', { noun: 'courses or webinars' })

/** The commands `svc bindings`. */
export const commands: CommandList = [
  command({
    path: 'bindings list',
    isDefault: true,
    summary: 'List the bindings',
    examples: ['svc bindings', 'svc bindings list --json'],
    run: async ({ out, work }) => {
      const { listBindings } = await import('./lifecycle.ts')
      const bindings = await work(listBindings)
      await out.list('bindings', bindings, columns, null, { id: ({ subject, event }) => `${subject} ${event}` })
    },
  }),

  command({
    path: 'bindings set',
    summary: 'Use a project for the email of an event, from the next event on',
    examples: [
      'svc bindings set webinar:web_01m82xtw6hfsym1hnj3zvrm5vk reminder Reminder',
      'svc bindings set course:crs_01m82xtxmmvg2qj0qr50gtn6ay enrolled Welcome',
    ],
    arguments: [
      subject,
      argument(
        '<event>',
        'enrolled, completed or reminder of a course; registered, reminder, attended or missed of a webinar',
        { noun: null, of: events },
      ),
      argument('<project>', 'id or name'),
    ],
    flags: {
      subject: text('<subject>', 'the subject of its emails (default: the name of the project)'),
      sender: text('<id|address>', 'the sender of its emails (default: the account’s default sender)'),
      ...changing(),
    },
    run: async ({ app, out, work }, subject, event, project, flags) => {
      const { setBinding } = await import('./lifecycle.ts')
      out.one(await work((w) => setBinding(app, w, subject, event, project, flags)))
    },
  }),

  command({
    path: 'bindings unset',
    summary: 'Use the plain email again',
    examples: [
      'svc bindings unset webinar:web_01m82xtw6hfsym1hnj3zvrm5vk reminder --dry-run',
      'svc bindings unset webinar:web_01m82xtw6hfsym1hnj3zvrm5vk reminder --yes',
    ],
    arguments: [subject, argument('<event>', '', { noun: null, of: events })],
    flags: changing(),
    run: async ({ out, work }, subject, event) => {
      const { unsetBinding } = await import('./lifecycle.ts')
      out.one({ subject, event, removed: await work((w) => unsetBinding(w, subject, event)) })
    },
  }),
]

import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, needed, text } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { properties } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import type { TopicView } from './topics.find.ts'

const columns = properties<TopicView>('id', 'name', 'description', 'createdAt')

/** The commands `svc topics`. */
export const commands: CommandList = [
  command({
    path: 'topics create',
    summary: 'Create a topic of marketing email, which people can leave on the preference page',
    examples: [
      'svc topics create --name Newsletter',
      'svc topics create --name "New courses" --description "When a course opens, about once a month"',
    ],
    flags: {
      name: needed('<name>', 'its name, which recipients see; unique in the account'),
      description: text('<text>', 'what it is about, for recipients'),
      ...changing(),
    },
    run: async ({ out, work }, { name, description }) => {
      const { createTopic, NewTopic } = await import('./topics.change.ts')
      const input = await parse(NewTopic, { name, description })
      out.one(await work((w) => createTopic(w, input)))
    },
  }),

  command({
    path: 'topics list',
    isDefault: true,
    summary: 'List the topics, by name',
    examples: ['svc topics', 'svc topics list --json'],
    run: async ({ out, work }) => {
      const { listTopics } = await import('./suppressions.ts')
      await out.list('topics', await work(listTopics), columns)
    },
  }),

  command({
    path: 'topics update',
    summary: 'Change the name or the description of a topic; people who left it stay unsubscribed from it',
    examples: [
      'svc topics update Newsletter --name "Monthly letter"',
      'svc topics update Newsletter --description "Once a month" --dry-run',
    ],
    arguments: [argument('<topic>', 'id or name')],
    flags: {
      name: text('<name>', 'its new name, which recipients see; unique in the account'),
      description: text('<text>', 'what it is about, for recipients'),
      ...changing(),
    },
    run: async ({ out, work }, ref, { name, description }) => {
      const { TopicChange, updateTopic } = await import('./topics.change.ts')
      if (name === undefined && description === undefined) throw new Problem('usage', 'Give --name or --description')
      const change = await parse(TopicChange, { name, description })
      out.one(await work((w) => updateTopic(w, ref, change)))
    },
  }),

  command({
    path: 'topics delete',
    summary:
      'Delete a topic that no unsent broadcast uses; people who left it do not get a later topic of its name either',
    examples: ['svc topics delete Newsletter --dry-run', 'svc topics delete Newsletter --yes'],
    arguments: [argument('<topic>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ confirm, out, trial, work }, ref, flags) => {
      const { deleteTopic } = await import('./topics.change.ts')
      const planned = await trial((w) => deleteTopic(w, ref))
      const people = quantity(planned.left, 'person', 'people')
      if (!(await confirm(`delete the topic ${planned.name}, which ${people} left`, flags, planned))) return
      out.one(await work((w) => deleteTopic(w, planned.id)))
    },
  }),
]

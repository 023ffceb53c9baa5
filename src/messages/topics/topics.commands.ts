import { type CommandSet, type Confirmation, changing, confirmed, examples } from '../../cli/command.ts'
import type { Column } from '../../cli/output.ts'
import { Problem } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import type { TopicView } from '../messages.ts'

const columns: Column<TopicView>[] = [
  ['ID', (topic) => topic.id],
  ['NAME', (topic) => topic.name],
  ['DESCRIPTION', (topic) => topic.description],
  ['CREATED', (topic) => new Date(topic.createdAt)],
]

/** Adds `svc topics`. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('topics')

  changing(
    noun
      .command('create')
      .description('Create a topic of marketing email, which people can leave on the preference page')
      .addHelpText(
        'after',
        examples(
          'svc topics create --name Newsletter',
          'svc topics create --name "New courses" --description "When a course opens, about once a month"',
        ),
      )
      .option('--name <name>', 'its name, which recipients see; unique in the account')
      .option('--description <text>', 'what it is about, for recipients'),
  ).action(
    cli.run(async ({ out, require, work }, flags: { name?: string; description?: string }) => {
      const { name } = await require(flags, 'name')
      const [{ createTopic, NewTopic }, { parse }] = await Promise.all([
        import('../messages.ts'),
        import('../../lib/parse.ts'),
      ])
      const input = parse(NewTopic, { name, description: flags.description })
      out.one(await work((w) => createTopic(w, input)))
    }),
  )

  noun
    .command('list', { isDefault: true })
    .description('List the topics, by name')
    .addHelpText('after', examples('svc topics', 'svc topics list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listTopics } = await import('../messages.ts')
        await out.list('topics', await work(listTopics), columns)
      }),
    )

  changing(
    noun
      .command('update')
      .description('Change the name or the description of a topic; people who left it stay unsubscribed from it')
      .addHelpText(
        'after',
        examples(
          'svc topics update Newsletter --name "Monthly letter"',
          'svc topics update Newsletter --description "Once a month" --dry-run',
        ),
      )
      .argument('<topic>', 'id or name')
      .option('--name <name>', 'its new name, which recipients see; unique in the account')
      .option('--description <text>', 'what it is about, for recipients'),
  ).action(
    cli.run(async ({ out, work }, ref: string, { name, description }: { name?: string; description?: string }) => {
      const [{ TopicChange, updateTopic }, { parse }] = await Promise.all([
        import('../messages.ts'),
        import('../../lib/parse.ts'),
      ])
      if (name === undefined && description === undefined) throw new Problem('usage', 'Give --name or --description')
      const change = parse(TopicChange, { name, description })
      out.one(await work((w) => updateTopic(w, ref, change)))
    }),
  )

  confirmed(
    noun
      .command('delete')
      .description(
        'Delete a topic that no unsent broadcast uses; people who left it have left a later topic of its name too',
      )
      .addHelpText('after', examples('svc topics delete Newsletter --dry-run', 'svc topics delete Newsletter --yes'))
      .argument('<topic>', 'id or name'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ confirm, out, trial, work }, ref: string, flags: Confirmation) => {
      const { deleteTopic } = await import('../messages.ts')
      const planned = await trial((w) => deleteTopic(w, ref))
      const people = quantity(planned.left, 'person', 'people')
      if (!(await confirm(`delete the topic ${planned.name}, which ${people} left`, flags, planned))) return
      out.one(await work((w) => deleteTopic(w, planned.id)))
    }),
  )
}

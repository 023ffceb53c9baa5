import { type CommandSet, type Confirmation, changing, confirmed, examples } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { SegmentView } from './segments.ts'

const columns: Column<SegmentView>[] = [
  ['ID', (segment) => segment.id],
  ['NAME', (segment) => segment.name],
  ['LIST', (segment) => (segment.listDeleted ? 'deleted' : segment.listId)],
  ['WHERE', (segment) => segment.where],
  ['CREATED', (segment) => new Date(segment.createdAt)],
]

/** Adds `svc segments`. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('segments')

  changing(
    noun
      .command('create')
      .description('Create a segment: the contacts of a list that meet a filter')
      .addHelpText(
        'after',
        examples(
          `svc segments create --name "Active customers" --list Customers --where 'plan = pro and opened < 30d'`,
          `svc segments create --name Vienna --list Customers --where 'field."Home town" = Vienna or domain ~ .at' --dry-run`,
        ),
      )
      .option('--name <name>', 'name of the segment, unique in the account')
      .option('--list <id|name>', 'the list')
      .option('--where <filter>', 'the filter, such as: plan = pro and opened < 30d'),
    'show how many contacts would be in it, and change nothing',
  ).action(
    cli.run(async ({ out, require, work }, flags: Confirmation & { name?: string; list?: string; where?: string }) => {
      const { name, list, where } = await require(flags, 'name', 'list', 'where')
      const [{ countSegment, createSegment, NewSegment }, { parse }] = await Promise.all([
        import('./segments.ts'),
        import('../lib/parse.ts'),
      ])
      const input = parse(NewSegment, { name, list, where })
      if (flags.dryRun) {
        const counted = await work(async (w) => {
          const segment = await createSegment(w, input)
          return { ...segment, count: await countSegment(w, segment) }
        })
        return out.one(await out.named(counted))
      }
      const segment = await work((w) => createSegment(w, input))
      out.one(await out.named(segment))
      out.next(`svc contacts list --segment ${segment.id}`)
    }),
  )

  noun
    .command('list', { isDefault: true })
    .description('List the segments, by name')
    .addHelpText('after', examples('svc segments', 'svc segments list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listSegments } = await import('./segments.ts')
        await out.list('segments', await work(listSegments), columns)
      }),
    )

  noun
    .command('show')
    .description('Show a segment and how many contacts are in it now')
    .addHelpText('after', examples('svc segments show "Active customers"', 'svc segments show Vienna --json'))
    .argument('<segment>', 'id or name')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { countSegment, findSegment } = await import('./segments.ts')
        const segment = await work((w) => findSegment(w, ref))
        out.one(await out.named({ ...segment, count: await work((w) => countSegment(w, segment)) }))
      }),
    )

  changing(
    noun
      .command('update')
      .description('Change the name or the filter of a segment')
      .addHelpText(
        'after',
        examples(
          'svc segments update Vienna --name "Vienna and Graz"',
          `svc segments update Vienna --where 'field."Home town" in (Vienna, Graz)' --dry-run`,
        ),
      )
      .argument('<segment>', 'id or name')
      .option('--name <name>', 'its new name, unique in the account')
      .option('--where <filter>', 'its new filter'),
    'show how many contacts would be in it, and change nothing',
  ).action(
    cli.run(
      async ({ out, work }, ref: string, { name, where, dryRun }: Confirmation & { name?: string; where?: string }) => {
        const [{ countSegment, SegmentChange, updateSegment }, { parse }] = await Promise.all([
          import('./segments.ts'),
          import('../lib/parse.ts'),
        ])
        if (name === undefined && where === undefined) throw new Problem('usage', 'Give --name or --where')
        const change = parse(SegmentChange, { name, where })
        out.one(
          await work(async (w) => {
            const segment = await updateSegment(w, ref, change)
            return dryRun ? { ...segment, count: await countSegment(w, segment) } : segment
          }),
        )
      },
    ),
  )

  confirmed(
    noun
      .command('delete')
      .description('Delete a segment; its contacts stay')
      .addHelpText('after', examples('svc segments delete Vienna --dry-run', 'svc segments delete Vienna --yes'))
      .argument('<segment>', 'id or name'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ confirm, out, trial, work }, ref: string, flags: Confirmation) => {
      const { deleteSegment } = await import('./segments.ts')
      const planned = await trial((w) => deleteSegment(w, ref))
      if (!(await confirm(`delete the segment ${planned.name}; no contact changes`, flags, planned))) return
      out.one(await work((w) => deleteSegment(w, planned.id)))
    }),
  )
}

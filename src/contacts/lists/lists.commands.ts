import { type CommandSet, type Confirmation, changing, confirmed, examples, gather } from '../../cli/command.ts'
import type { Column } from '../../cli/output.ts'
import { number, quantity } from '../../lib/quantity.ts'
import type { ContactListView } from './lists.ts'

const listColumns: Column<ContactListView>[] = [
  ['ID', (list) => list.id],
  ['NAME', (list) => list.name],
  ['CONTACTS', (list) => list.rowCount],
  ['COLUMNS', (list) => list.fields.join(', ')],
  ['UPDATED', (list) => new Date(list.updatedAt)],
]

/** `svc lists` */
export const lists: CommandSet = (cli) => {
  const noun = cli.noun('lists')

  noun
    .command('create')
    .description('Create a list')
    .addHelpText(
      'after',
      examples(
        'svc lists create --name Customers',
        'svc lists create --name Customers --field first_name --field company',
      ),
    )
    .option('--name <name>', 'name of the list, unique in the account')
    .option('--field <name>', 'name of a column, repeatable; writes add new columns automatically', gather, [])
    .action(
      cli.run(async ({ out, require, work }, flags: { name?: string; field: string[] }) => {
        const { name } = await require(flags, 'name')
        const [{ createList, NewList }, { parse }] = await Promise.all([
          import('./lists.ts'),
          import('../../lib/parse.ts'),
        ])
        const input = parse(NewList, { name, fields: flags.field })
        out.one(await work((w) => createList(w, input)))
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the lists, by name')
    .addHelpText('after', examples('svc lists', 'svc lists --json --fields id,name,rowCount'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listLists } = await import('./lists.ts')
        await out.list('lists', await work(listLists), listColumns)
      }),
    )

  noun
    .command('show')
    .description('Show a list')
    .addHelpText('after', examples('svc lists show Customers', 'svc lists show Customers --json'))
    .argument('<list>', 'id or name')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { findList } = await import('./lists.ts')
        out.one(await work((w) => findList(w, ref)))
      }),
    )

  changing(
    noun
      .command('rename')
      .description('Rename a list')
      .addHelpText(
        'after',
        examples('svc lists rename Customers "Customers 2026"', 'svc lists rename Customers Clients --dry-run'),
      )
      .argument('<list>', 'id or name')
      .argument('<name>'),
  ).action(
    cli.run(async ({ out, work }, ref: string, name: string) => {
      const [{ NewList, renameList }, { parse }] = await Promise.all([
        import('./lists.ts'),
        import('../../lib/parse.ts'),
      ])
      const { name: newName } = parse(NewList, { name })
      out.one(await work((w) => renameList(w, ref, newName)))
    }),
  )

  confirmed(
    noun
      .command('delete')
      .description('Delete a list with its contacts, and addresses that are in no other list')
      .addHelpText('after', examples('svc lists delete Customers --dry-run', 'svc lists delete Customers --yes'))
      .argument('<list>', 'id or name'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ app, actor, account, signal, out, work, confirm, progress }, ref: string, flags: Confirmation) => {
      const { countRemoval, deleteList, findDeletable } = await import('../write/write.ts')
      const { list, ...planned } = await work(async (w) => {
        const list = await findDeletable(w, ref)
        return { list, ...(await countRemoval(w, list.id)) }
      })
      const what = `delete the list ${list.name} with ${quantity(planned.contacts, 'contact')}, ${number(planned.addresses)} of them in no other list; no event fires`
      if (!(await confirm(what, flags, { ...list, ...planned }))) return
      const bar = progress('contacts')
      const onBatch = (rows: number) => bar.update({ rows, fraction: rows / Math.max(rows, planned.contacts) })
      const { id: accountId } = await account()
      const { isDone, ...removed } = await deleteList(app, accountId, list.id, { actor, signal, onBatch }).finally(() =>
        bar.stop(),
      )
      if (!isDone) out.note('Stopped before the end. The list is deleted; the jobs delete the rest of its contacts.')
      out.one({ ...list, ...removed })
    }),
  )
}

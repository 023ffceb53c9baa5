import { type CommandSet, gather } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { ContactListView } from './contacts.ts'

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
    .option('--name <name>', 'its name, unique in the account')
    .option('--field <name>', 'a column, as often as needed; writes add theirs by themselves', gather, [])
    .action(
      cli.run(async ({ out, require, work }, flags: { name?: string; field: string[] }) => {
        const { name } = await require({ name: flags.name })
        const [{ createList, NewList }, { parse }] = await Promise.all([
          import('./contacts.ts'),
          import('../lib/parse.ts'),
        ])
        const input = parse(NewList, { name, fields: flags.field })
        out.one(await work((w) => createList(w, input)))
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the lists, by name')
    .action(
      cli.run(async ({ out, work }) => {
        const { listLists } = await import('./contacts.ts')
        await out.list('lists', await work(listLists), listColumns)
      }),
    )

  noun
    .command('show')
    .description('Show a list')
    .argument('<list>', 'id or name')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { findList } = await import('./contacts.ts')
        out.one(await work((w) => findList(w, ref)))
      }),
    )

  noun
    .command('rename')
    .description('Give a list another name')
    .argument('<list>', 'id or name')
    .argument('<name>')
    .action(
      cli.run(async ({ out, work }, ref: string, name: string) => {
        const [{ NewList, renameList }, { parse }] = await Promise.all([
          import('./contacts.ts'),
          import('../lib/parse.ts'),
        ])
        const { name: newName } = parse(NewList, { name })
        out.one(await work((w) => renameList(w, ref, newName)))
      }),
    )

  noun
    .command('delete')
    .description('Delete a list with its contacts; addresses that are in no other list leave the account')
    .argument('<list>', 'id or name')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would go')
    .action(
      cli.run(
        async (
          { app, actor, account, signal, out, work, confirm, progress },
          ref: string,
          flags: { yes?: boolean; dryRun?: boolean },
        ) => {
          const { countRemoval, deleteList, findDeletable } = await import('./contacts.ts')
          const { list, ...planned } = await work(async (w) => {
            const list = await findDeletable(w, ref)
            return { list, ...(await countRemoval(w, list.id)) }
          })
          const what = `delete the list ${list.name} with ${planned.contacts} contacts, ${planned.addresses} of them in no other list; no event fires`
          if (!(await confirm(what, flags, { ...list, ...planned }))) return
          const bar = progress('contacts')
          const onBatch = (rows: number) => bar.update({ rows, fraction: rows / Math.max(rows, planned.contacts) })
          const { id: accountId } = await account()
          const { isDone, ...removed } = await deleteList(app, accountId, list.id, { actor, signal, onBatch }).finally(
            () => bar.stop(),
          )
          if (!isDone) out.note('Stopped before the end: the list is gone, and the jobs take the rest of its contacts.')
          out.one({ ...list, ...removed })
        },
      ),
    )
}

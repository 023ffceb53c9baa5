import { type CommandList, command } from '../../cli/define.ts'
import { argument, changing, confirmed, needed, repeated } from '../../cli/flags.ts'
import { parse } from '../../cli/input.ts'
import { type Column, properties } from '../../cli/output.ts'
import { number, quantity } from '../../lib/quantity.ts'
import type { ContactListView } from './lists.ts'

const listColumns: Column<ContactListView>[] = [
  ...properties<ContactListView>('id', 'name'),
  ['CONTACTS', (list) => list.rowCount],
  ['COLUMNS', (list) => list.fields.join(', ')],
  ['UPDATED', (list) => new Date(list.updatedAt)],
]

/** The commands `svc lists`. */
export const lists: CommandList = [
  command({
    path: 'lists create',
    summary: 'Create a list',
    examples: [
      'svc lists create --name Customers',
      'svc lists create --name Customers --field first_name --field company',
    ],
    flags: {
      name: needed('<name>', 'name of the list, unique in the account'),
      field: repeated('<name>', 'name of a column, repeatable; writes add new columns automatically'),
    },
    run: async ({ out, work }, { name, field }) => {
      const { createList, NewList } = await import('./lists.ts')
      const input = await parse(NewList, { name, fields: field })
      out.one(await work((w) => createList(w, input)))
    },
  }),

  command({
    path: 'lists list',
    isDefault: true,
    summary: 'List the lists, by name',
    examples: ['svc lists', 'svc lists --json --fields id,name,rowCount'],
    run: async ({ out, work }) => {
      const { listLists } = await import('./lists.ts')
      await out.list('lists', await work(listLists), listColumns)
    },
  }),

  command({
    path: 'lists show',
    summary: 'Show a list',
    examples: ['svc lists show Customers', 'svc lists show Customers --json'],
    arguments: [argument('<list>', 'id or name')],
    run: async ({ out, work }, ref) => {
      const { findList } = await import('./lists.ts')
      out.one(await work((w) => findList(w, ref)))
    },
  }),

  command({
    path: 'lists rename',
    summary: 'Rename a list',
    examples: ['svc lists rename Customers "Customers 2026"', 'svc lists rename Customers Clients --dry-run'],
    arguments: [argument('<list>', 'id or name'), argument('<name>')],
    flags: changing(),
    run: async ({ out, work }, ref, name) => {
      const { NewList, renameList } = await import('./lists.ts')
      const { name: newName } = await parse(NewList, { name })
      out.one(await work((w) => renameList(w, ref, newName)))
    },
  }),

  command({
    path: 'lists delete',
    summary: 'Delete a list with its contacts, and addresses that are in no other list',
    examples: ['svc lists delete Customers --dry-run', 'svc lists delete Customers --yes'],
    arguments: [argument('<list>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ app, actor, account, signal, out, work, confirm, withProgress }, ref, flags) => {
      const { countRemoval, deleteList, findDeletable } = await import('../write/delete-list.ts')
      const { list, ...planned } = await work(async (w) => {
        const list = await findDeletable(w, ref)
        return { list, ...(await countRemoval(w, list.id)) }
      })
      const what = `delete the list ${list.name} with ${quantity(planned.contacts, 'contact')}, ${number(planned.addresses)} of them in no other list; no event fires`
      if (!(await confirm(what, flags, { ...list, ...planned }))) return
      const { id: accountId } = await account()
      const { isDone, ...removed } = await withProgress('contacts', planned.contacts, (onBatch) =>
        deleteList(app, accountId, list.id, { actor, signal, onBatch }),
      )
      if (!isDone) out.note('Stopped before the end. The list is deleted; the jobs delete the rest of its contacts.')
      out.one({ ...list, ...removed })
    },
  }),
]

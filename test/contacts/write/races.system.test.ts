import { once } from 'node:events'
import { expect, test } from 'vitest'
import { finishListDeletions } from '../../../src/contacts/write/delete-list.ts'
import { startSvc } from '../../support/cli.ts'
import { eventually } from '../../support/deliveries.ts'
import { useContacts } from '../support.ts'
import { createBigList, exact, inexact } from './support.ts'

const app = useContacts()

test('a command that is killed while it deletes a list leaves exact counts, and the jobs finish the deletion', async () => {
  const account = await app.account()
  const id = await createBigList(app, account, 20_000)
  const rows = async () =>
    (await app.app.sql<{ n: number }>('select count(*) as n from contacts where list_id = $1', [id]))[0]!.n
  const child = startSvc(app, ['lists', 'delete', 'Big', '--yes', '--account', account.id])
  const ended = once(child, 'exit')
  await eventually(async () => child.exitCode !== null || (await rows()) < 20_000)
  child.kill('SIGKILL')
  expect((await ended)[1]).toBe('SIGKILL')
  expect(await rows()).toBeGreaterThan(0)
  expect(await inexact(app, account.id)).toEqual(exact)
  await finishListDeletions(app.app, {})
  expect([await rows(), await inexact(app, account.id)]).toEqual([0, exact])
  expect(await app.app.sql('select 1 from deleted_lists where account_id = $1', [account.id])).toEqual([])
})

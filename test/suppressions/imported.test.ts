import { expect, test } from 'vitest'
import { createList, lockLeaving, writeContacts } from '../../src/contacts/contacts.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressSince } from '../../src/suppressions/suppressions.imported.ts'
import { useAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'

const t = useApp()
const account = useAccount(t)

const work = <R>(run: (work: Work) => Promise<R>): Promise<R> => t.app.work(account.id, 'cli:test', run)

test('opt-outs for several reasons lock their addresses in one order, so that no other transaction deadlocks', async () => {
  const [first, last] = ['a@people.example', 'b@people.example']
  const { id } = await work((w) => createList(w, { name: 'People' }))
  const contacts = [first, last].map((email) => ({ email, fields: {} }))
  await work((w) => writeContacts(w, id, contacts, new Map()))
  const suppressed = await work(async (w) => {
    await lockLeaving(w, [first])
    const suppressing = work((other) =>
      suppressSince(other, [
        { email: last, reason: 'bounced', at: null },
        { email: first, reason: 'unsubscribed', at: null },
      ]),
    )
    await untilLocked(t.app, 1)
    await w.sql('select from addresses where account_id = $1 and email = $2 for update nowait', [w.accountId, last])
    // Wrapped in a list, because a returned promise would be awaited before the commit.
    return [suppressing]
  })
  expect(await suppressed[0]).toEqual(new Set([`${last} bounced`, `${first} unsubscribed`]))
})

import { createList } from '../../src/contacts/contacts.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import type { TestAccount, TestApp } from './app.ts'
import { sendingAccount } from './messages.ts'
import { plainProject } from './projects.ts'

export interface Audience {
  account: TestAccount
  listId: string
  projectId: string
}

/** Contacts `c0@people.example` and on, written straight into the tables. */
export const addPeople = async (t: TestApp, { account, listId }: Audience, from: number, to: number): Promise<void> => {
  await t.app.sql(
    `insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
     select $1, 'c' || n || '@people.example', $2, 'row_' || lpad(n::text, 10, '0') || $2, jsonb_build_object('name', 'N' || n),
       'active', svc_now(), svc_now()
     from generate_series($3::int, $4::int) n`,
    [account.id, listId, from, to - 1],
  )
}

/** An account that can send, with a project `Spring` and a list `People` of so many active contacts. */
export const audience = async (t: TestApp, count: number, plan = 'unlimited'): Promise<Audience> => {
  const account = await sendingAccount(t, { plan })
  const made = await t.app.work(account.id, 'cli:test', async (work) => ({
    listId: (await createList(work, { name: 'People' })).id,
    projectId: (await applyProjects(work, [plainProject('Spring')]))[0]!.id!,
  }))
  const found = { account, ...made }
  if (count > 0) await addPeople(t, found, 0, count)
  return found
}

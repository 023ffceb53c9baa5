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

/** Inserts the contacts `c0@people.example`, `c1@people.example` and so on directly into the tables. */
export const addPeople = async (t: TestApp, { account, listId }: Audience, from: number, to: number): Promise<void> => {
  await t.app.sql(
    `with people as (
       select n, 'c' || n || '@people.example' as email, 'row_' || lpad(n::text, 10, '0') || $2 as row_id
       from generate_series($3::int, $4::int) n
     ), known as (
       insert into addresses (account_id, email, row_id, domain) select $1, email, row_id, 'people.example' from people
     )
     insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
     select $1, row_id, $2, email, jsonb_build_object('name', 'N' || n), 'active', svc_now(), svc_now() from people`,
    [account.id, listId, from, to - 1],
  )
}

/** Creates an account that can send, with a project `Spring` and a list `People` of `count` active contacts. */
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

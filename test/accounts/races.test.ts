import { describe, expect, test } from 'vitest'
import { claimSlug, countOwned, createAccount, lockAccount } from '../../src/accounts/accounts.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { renameList } from '../../src/contacts/lists/lists.ts'
import type { Work } from '../../src/store/work.ts'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { emitEvents, endPending, subscribe } from '../support/deliveries.ts'

const t = useApp()

/**
 * Runs `first` in a unit of work of the account that stays open until `second` waits for it, then commits. Returns the
 * result or the error of `second`.
 */
const during = async <T>(accountId: string, first: (work: Work) => Promise<unknown>, second: () => Promise<T>) => {
  const ending = await t.app.work(accountId, 'cli:test', async (work) => {
    await first(work)
    const [{ pid }] = (await work.sql<{ pid: number }>('select pg_backend_pid() as pid')) as [{ pid: number }]
    const isBlocked = 'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))'
    const end = second().catch((error) => error)
    await expect.poll(async () => (await t.app.sql(isBlocked, [pid])).length).toBe(1)
    // Wrapped in a list, because a returned promise would be awaited before the commit.
    return [end] as const
  })
  return ending[0]
}

let names = 0
const newName = () => `name-${++names}`

/** Waits for all calls; returns how many succeeded, and the kinds of the errors of the others. */
const outcomes = async (calls: readonly Promise<unknown>[]) => {
  const ends = await Promise.allSettled(calls)
  return {
    done: ends.filter(({ status }) => status === 'fulfilled').length,
    refused: ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.kind ?? end.reason.message] : [])),
  }
}

describe('of two concurrent commands the second reports a conflict', () => {
  test('creating an account: exit 6', async () => {
    const [name, { id }] = [newName(), await t.account()]
    const first = (work: Work) => createAccount(work, { name, plan: 'free' })
    const ran = await during(id, first, () => svc(t, ['accounts', 'create', '--name', name]))
    expect(ran.status).toBe(6)
    expect(ran.stderr).toContain(`There is already an account named ${name}`)
  })

  test('creating an account: one of eight succeeds', async () => {
    const name = newName()
    const calls = Array.from({ length: 8 }, () =>
      t.app.operate('cli:test', (operation) => createAccount(operation, { name, plan: 'free' })),
    )
    expect(await outcomes(calls)).toEqual({ done: 1, refused: Array(7).fill('conflict') })
  })

  test('renaming a list to a name that another list takes meanwhile: exit 6', async () => {
    const account = await t.account()
    const [taken, mine] = [newName(), newName()]
    const list = await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: mine }))
    const ran = await during(
      account.id,
      (work) => createList(work, { name: taken }),
      () => svc(t, ['lists', 'rename', list.id, taken, '--account', account.id]),
    )
    expect(ran.status).toBe(6)
    expect(ran.stderr).toContain(`There is already a list named ${taken}`)
    const rows = await t.app.sql('select name from contact_lists where id = $1', [list.id])
    expect(rows).toEqual([{ name: mine }])
  })

  test('renaming lists: one of eight gets the name', async () => {
    const account = await t.account()
    const [name, ...others] = Array.from({ length: 9 }, newName)
    const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
    for (const other of others) await work((w) => createList(w, { name: other }))
    const calls = others.map((other) => work((w) => renameList(w, other, name!)))
    expect(await outcomes(calls)).toEqual({ done: 1, refused: Array(7).fill('conflict') })
  })

  test('claiming a slug: exit 6', async () => {
    const [slug, account, other] = [newName(), await t.account(), await t.account()]
    const ran = await during(
      other.id,
      (work) => claimSlug(work, other.id, slug),
      () => svc(t, ['accounts', 'claim-slug', slug, '--account', account.id]),
    )
    expect(ran.status).toBe(6)
    expect(ran.stderr).toContain(`The slug ${slug} is taken`)
  })

  test('claiming a slug: one of eight succeeds, and two accounts that swap slugs are both refused', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => t.account()))
    const claim = (id: string, slug: string) => t.app.operate('cli:test', (operation) => claimSlug(operation, id, slug))
    const slug = newName()
    expect(await outcomes(all.map(({ id }) => claim(id, slug)))).toEqual({
      done: 1,
      refused: Array(7).fill('conflict'),
    })
    const [a, b] = [newName(), newName()]
    await claim(all[0]!.id, a)
    await claim(all[1]!.id, b)
    expect(await outcomes([claim(all[0]!.id, b), claim(all[1]!.id, a)])).toEqual({
      done: 0,
      refused: ['conflict', 'conflict'],
    })
  })
})

test("an account whose deletion begins meanwhile can't claim a slug: the account is not found", async () => {
  const [slug, account] = [newName(), await t.account()]
  // Not in a unit of work of the account itself: its deletion waits for those.
  const { id: elsewhere } = await t.account()
  const end = during(
    elsewhere,
    ({ sql }) => sql('update accounts set deleted_at = now() where id = $1', [account.id]),
    () => t.app.operate('cli:test', (operation) => claimSlug(operation, account.id, slug)),
  )
  expect(await end).toMatchObject({ kind: 'not_found' })
  expect(await t.app.sql('select from accounts where slug = $1', [slug])).toEqual([])
})

test('of two units of work that lock the account, the second one waits for the end of the first', async () => {
  const { id } = await t.account()
  const rename = async (work: Work) => {
    await lockAccount(work)
    await work.sql('update accounts set name = name || $2 where id = $1', [id, '!'])
  }
  const named = async (work: Work) => {
    await lockAccount(work)
    return (await work.sql<{ name: string }>('select name from accounts where id = $1', [id]))[0]!.name
  }
  expect(await during(id, rename, () => t.app.work(id, 'cli:test', named))).toMatch(/!$/)
})

test('the rows of a deletion are counted in one snapshot: a row that moves meanwhile counts once', async () => {
  const account = await t.account()
  await subscribe(t.app, account.id, 'https://example.com/hook')
  await emitEvents(t.app, account.id, 5)
  await endPending(t.app, account.id, 'delivered')
  const move = async ({ sql }: Work) => {
    await sql('lock table pending_deliveries in access exclusive mode')
    await sql(
      `insert into pending_deliveries (account_id, id, target_id, key, type, created_at, bytes, due_at)
       select account_id, id, target_id, key, type, created_at, 0, now() from ended_deliveries where account_id = $1`,
      [account.id],
    )
    await sql('delete from ended_deliveries where account_id = $1', [account.id])
  }
  const ran = await during(account.id, move, () => svc(t, ['accounts', 'delete', account.id, '--dry-run', '--json']))
  expect(ran.json.deleted.pending_deliveries).toBe(5)
  expect(ran.json.deleted).not.toHaveProperty('ended_deliveries')
  expect(await countOwned(t.app, account.id)).toEqual(ran.json.deleted)
})

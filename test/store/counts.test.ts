import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { countsOf } from '../support/database.ts'

const t = useApp()

test('a deadlock is counted at once, whichever session of the pool met it', async () => {
  await t.app.sql('create table things (id int primary key)')
  await t.app.sql('insert into things values (1), (2)')
  const before = await countsOf(t.app.database)
  const both = Promise.withResolvers<void>()
  let locked = 0
  const lock = (...ids: [number, number]) => {
    let isFirstTry = true
    return t.app.database.transaction(async (sql) => {
      await sql('select from things where id = $1 for update', [ids[0]])
      if (isFirstTry && ++locked === 2) both.resolve()
      isFirstTry = false
      await both.promise
      await sql('select from things where id = $1 for update', [ids[1]])
    })
  }
  await Promise.all([lock(1, 2), lock(2, 1)])
  expect((await countsOf(t.app.database)).deadlocks - before.deadlocks).toBe(1)
})

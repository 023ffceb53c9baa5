import { MikroORM } from '@mikro-orm/postgresql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadEntities } from '../../src/app/features.ts'
import { openDatabase } from '../../src/store/database.ts'
import { migrate, resetSchema, schemaState } from '../../src/store/schema.ts'
import { cloneDatabase } from '../support/database.ts'

let url: string
let drop: () => Promise<void>

beforeAll(async () => {
  ;({ url, drop } = await cloneDatabase())
})
afterAll(() => drop())

test('the migrations make exactly what the entities say', async () => {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: await loadEntities(),
    ensureDatabase: false,
    // Functions stand in the migrations alone.
    schemaGenerator: { ignoreRoutines: true },
    logger: () => {},
  })
  const difference = await orm.schema.getUpdateSchemaSQL({ safe: false })
  await orm.close()
  // What is no table stands in the migrations alone.
  const tables = difference.replace(/^(set names|drop view if exists "deliveries").*$/gm, '')
  expect(tables.trim()).toBe('')
})

test('two processes that migrate at once: one does, the other waits and finds nothing to do', async () => {
  const database = openDatabase(url)
  await database.sql('drop schema public cascade')
  await database.sql('create schema public')
  const applied = await Promise.all([migrate(database, url), migrate(database, url), migrate(database, url)])
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
  expect((await schemaState(database)).pending).toEqual([])
  await database.close()
})

test('a reset leaves nothing behind, and the schema is set up anew', async () => {
  const database = openDatabase(url)
  await migrate(database, url)
  await resetSchema(database)
  const left = await database.sql(
    `select relname as name from pg_class where relnamespace = current_schema()::regnamespace
     union all select proname from pg_proc where pronamespace = current_schema()::regnamespace`,
  )
  expect(left).toEqual([])
  expect((await migrate(database, url)).length).toBeGreaterThan(1)
  await database.close()
})

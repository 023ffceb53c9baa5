import { readFile } from 'node:fs/promises'
import { MikroORM } from '@mikro-orm/postgresql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { migrate, resetSchema, schemaState } from '../../src/store/schema.ts'
import { cloneDatabase } from '../support/database.ts'
import { loadEntities } from '../support/entities.ts'
import { generateColumns } from './columns.ts'

let url: string
let drop: () => Promise<void>

beforeAll(async () => {
  ;({ url, drop } = await cloneDatabase())
})
afterAll(() => drop())

test('the migrations create exactly the tables that the entities define', async () => {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: await loadEntities(),
    ensureDatabase: false,
    // Only the migrations define functions.
    schemaGenerator: { ignoreRoutines: true },
    logger: () => {},
  })
  const difference = await orm.schema.getUpdateSchemaSQL({ safe: false })
  await orm.close()
  // Only the migrations define the view.
  const tables = difference.replace(/^(set names|drop view if exists "deliveries").*$/gm, '')
  expect(tables.trim()).toBe('')
})

test('the tables of statements have the columns of the entities: else run npm run columns', async () => {
  for (const [file, source] of await generateColumns()) expect(await readFile(file, 'utf8'), file).toBe(source)
})

test('when several processes migrate at once, one applies the migrations and the others apply none', async () => {
  const database = openDatabase(url)
  await database.sql('drop schema public cascade')
  await database.sql('create schema public')
  const applied = await Promise.all([migrate(database, url), migrate(database, url), migrate(database, url)])
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
  expect((await schemaState(database)).pending).toEqual([])
  await database.close()
})

test('a reset removes everything, and the schema can be created again', async () => {
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

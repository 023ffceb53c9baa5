import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { schemaState } from '../../src/store/schema.ts'
import { openServer, urlOf } from '../support/server.ts'

test('the cluster and the template of a run are kept for the next one, unless they are damaged', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-server-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  // The server may run as another user.
  await chmod(folder, 0o755)
  const cache = join(folder, 'cache')
  /** Opens a server as a run does, and returns the identity of its cluster. */
  const run = async (name: string) => {
    const server = await openServer(join(folder, name), `svc_${name}`, cache)
    const database = openDatabase(urlOf(server.url, `svc_${name}`), { max: 1 })
    expect(await schemaState(database)).toMatchObject({ pending: [], unknown: [] })
    const [row] = await database.sql('select system_identifier::text as id from pg_control_system()')
    await database.close()
    await server.close()
    return row!.id
  }
  const first = await run('first')
  expect(await run('second')).toBe(first)
  const [kept, ...others] = await readdir(cache)
  expect(others).toEqual([])
  await rm(join(cache, kept!, 'pgdata/global'), { recursive: true })
  const third = await run('third')
  expect(third).not.toBe(first)
  expect(await run('fourth')).toBe(third)
})

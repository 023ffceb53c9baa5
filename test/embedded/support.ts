import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, expect } from 'vitest'
import { openEmbedded } from '../../src/embedded/embedded.ts'
import { spawnInTest } from '../support/children.ts'

/** Returns the first column of the first row. */
export const query = async (url: string, sql: string): Promise<unknown> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}

export const identity = (url: string) => query(url, 'select system_identifier::text from pg_control_system()')

export const postmasterPid = async (dir: string) =>
  Number((await readFile(join(dir, 'pgdata/postmaster.pid'), 'utf8')).split('\n')[0])

/**
 * Returns a function that puts an existing cluster into a data folder that does not exist yet. The cluster is created once for
 * a test file and copied for each call; each copy chooses its own port.
 */
export const clusterSource = (): ((dataDir: string) => Promise<void>) => {
  let top: string | undefined
  let made: Promise<string> | undefined
  const make = async () => {
    top = await realpath(await mkdtemp(join(tmpdir(), 'svc-cluster-')))
    await chmod(top, 0o755)
    const folder = join(top, '.svc')
    await (await openEmbedded(folder, { settings: { fsync: 'off' } })).close()
    for (const name of ['postgres.port', 'postgres.log']) await rm(join(folder, name))
    // A killed server leaves its shared memory in files of the folder.
    await appendFile(join(folder, 'pgdata/postgresql.conf'), 'dynamic_shared_memory_type = mmap\n')
    return folder
  }
  afterAll(() => top && rm(top, { recursive: true, force: true }))
  return async (dataDir) => {
    made ??= make()
    await promisify(execFile)('cp', ['-a', await made, dataDir])
  }
}

export interface User {
  process: ChildProcess
  next(): Promise<{ url: string; closed: boolean; kind?: string; message?: string }>
  close(): Promise<void>
  kill(): Promise<void>
}

const childFile = join(import.meta.dirname, 'child.ts')

/** Starts another process that opens a data folder. `inside` is a prefix of its command, such as that of a container. */
export const startUser = (args: string[], as: object = {}, inside: string[] = []): User => {
  const [command, ...rest] = [...inside, process.execPath, childFile, ...args]
  const child = spawnInTest(command!, rest, as)
  child.stderr.pipe(process.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? '{}')
  return {
    process: child,
    next,
    close: async () => {
      child.stdin.write('close\n')
      expect(await next()).toEqual({ closed: true })
    },
    kill: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

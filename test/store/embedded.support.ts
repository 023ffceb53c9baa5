import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { expect } from 'vitest'

export const isRoot = process.getuid?.() === 0

/** The first column of the first row. */
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

export interface User {
  process: ChildProcess
  next(): Promise<{ url: string; closed: boolean; kind?: string; message?: string }>
  close(): Promise<void>
  kill(): Promise<void>
}

const childFile = join(import.meta.dirname, 'embedded.child.ts')

/** Another process that opens a data folder, `inside` what a command in front of its own makes for it. */
export const startUser = (args: string[], as: object = {}, inside: string[] = []): User => {
  const [command, ...rest] = [...inside, process.execPath, childFile, ...args]
  const child = spawn(command!, rest, { ...as, stdio: ['pipe', 'pipe', 'inherit'] })
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

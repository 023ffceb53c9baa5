import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openEmbedded } from '../../src/embedded/embedded.ts'
import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/schema.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server with the template; each test file clones the template there. */
    serverUrl: string
    template: string
  }
}

const onServer = async (url: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

export const urlOf = (serverUrl: string, database: string): string =>
  Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href

// Tests crash processes, never the machine: without fsync the same statements take a fraction of the time.
const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' }

/** Runs once per test run: opens a server (DATABASE_URL, or an embedded one in a temporary folder) with a migrated template. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const given = process.env.DATABASE_URL
  const folder = given ? null : await mkdtemp(join(tmpdir(), 'svc-test-'))
  const embedded = folder ? await openEmbedded(folder, { settings: fast }) : null
  const serverUrl = given ?? embedded!.url
  const template = `svc_template_${process.pid}`
  await onServer(serverUrl, `create database ${template}`)
  const url = urlOf(serverUrl, template)
  const database = openDatabase(url, { max: 2 })
  await migrate(database, url)
  await database.close()
  project.provide('serverUrl', serverUrl)
  project.provide('template', template)
  return async () => {
    await onServer(serverUrl, `drop database if exists ${template} with (force)`)
    await embedded?.close()
    if (folder) await rm(folder, { recursive: true, force: true })
  }
}

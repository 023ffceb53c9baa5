import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Embedded, openEmbedded } from '../../src/embedded/embedded.ts'
import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/schema.ts'

/*
 * The server of a test run, with a migrated template. Creating its cluster and migrating the template take a second, which is half
 * of the time that one file takes. So both are kept between runs, in node_modules/.cache, and copied.
 */

// Tests crash processes, never the machine: without fsync the same statements take a fraction of the time.
export const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' }

/** In the folder of the cluster, which only the user of the server can enter. */
const socketFolder = '.'
/** So its socket needs no password, whose proof is a millisecond of CPU time for each connection. */
const trustSocket = { from: /^local(\s+all\s+all\s+).*$/m, to: 'local$1trust' }
/** Bytes. No system takes a longer path of a socket, with the name of the file. */
const longestPath = 80

/** Returns the URL of the server by its Unix socket: TCP takes two to three times as much of the kernel's time for a statement. */
const bySocket = (url: string, folder: string): string => {
  const path = join(folder, 'pgdata')
  return path.length > longestPath ? url : Object.assign(new URL(url), { hostname: encodeURIComponent(path) }).href
}

const root = join(import.meta.dirname, '../..')
const keptPrefix = 'database-'
const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to])

export const urlOf = (serverUrl: string, database: string): string =>
  Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href

export const onServer = async (url: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

export const createTemplate = async (serverUrl: string, name: string): Promise<void> => {
  await onServer(serverUrl, `create database ${name}`)
  const url = urlOf(serverUrl, name)
  const database = openDatabase(url, { max: 2 })
  await migrate(database, url).finally(() => database.close())
}

/** Identifies the cluster and the template: the migrations, and what creates and runs the server. */
const keyOf = (): string => {
  const hash = createHash('sha256').update(
    `${process.getuid?.()} ${process.arch} ${JSON.stringify([fast, trustSocket.to])}`,
  )
  const folders = ['migrations', 'src/embedded'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(folder, name)),
  )
  for (const file of ['package-lock.json', 'src/store/schema.ts', ...folders])
    hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Keeps a stopped server's folder for later runs, in place of those of other migrations. */
const keep = async (folder: string, cache: string, kept: string): Promise<void> => {
  await mkdir(cache, { recursive: true })
  for (const name of await readdir(cache))
    if (name.startsWith(keptPrefix)) await rm(join(cache, name), { recursive: true, force: true })
  const own = `${kept}.${process.pid}`
  await copy(folder, own)
  for (const name of ['postgres.port', 'postgres.log']) await rm(join(own, name), { force: true })
  await rename(own, kept)
}

/** Starts the server of a folder, and gives its template this name. */
const start = async (folder: string, template: string): Promise<Pick<Embedded, 'url' | 'close'>> => {
  const { url, close } = await openEmbedded(folder, { settings: { ...fast, unix_socket_directories: socketFolder } })
  await onServer(url, `alter database svc_template rename to ${template}`)
  // The first session in a database lists the system's tables in a file. The clones get it, too, instead of writing their own.
  await onServer(urlOf(url, template), 'select')
  return { url: bySocket(url, folder), close }
}

/** Opens an embedded server in `folder`, which is created, with a template of this name. */
export const openServer = async (
  folder: string,
  template: string,
  cache: string = join(root, 'node_modules/.cache'),
): Promise<Pick<Embedded, 'url' | 'close'>> => {
  const kept = join(cache, keptPrefix + keyOf())
  // The owner of a checkout may have changed: root would act as the folder's owner.
  const owner = await stat(kept).catch(() => null)
  if (owner && owner.uid === (process.getuid?.() ?? owner.uid)) {
    try {
      await copy(kept, folder)
      return await start(folder, template)
    } catch {
      // It is damaged.
      await rm(folder, { recursive: true, force: true })
    }
  }
  const created = await openEmbedded(folder, { settings: fast })
  await createTemplate(created.url, 'svc_template')
  await created.close()
  const rules = join(folder, 'pgdata/pg_hba.conf')
  await writeFile(rules, (await readFile(rules, 'utf8')).replace(trustSocket.from, trustSocket.to))
  // A cache that can't be written only costs time.
  await keep(folder, cache, kept).catch(() => {})
  return start(folder, template)
}

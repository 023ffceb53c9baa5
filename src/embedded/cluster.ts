import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  constants,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../lib/problem.ts'
import { openSystemFolder } from './binaries.ts'
import { makeDataFolder, requirePrivate } from './folder.ts'
import { withBuildLock, withSweepLock } from './lock.ts'
import { runNamed } from './named.ts'
import {
  asOtherThanRoot,
  canReach,
  isRoot,
  type ServerUser,
  serverUser,
  soleRoot,
  spawnOptions,
  systemFolder,
  unsupported,
  unwritable,
} from './user.ts'

export const superuser = 'svc'

/**
 * Creates the data folder if it is missing (mode 700) and returns its real path. Throws Problem `configuration` if this process
 * can't write there.
 */
export const prepareFolder = async (dataDir: string): Promise<string> => {
  const path = resolve(dataDir)
  try {
    makeDataFolder(path)
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    await readdir(path)
    return await realpath(path)
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem(
      'configuration',
      `The data folder ${path} can't be written: give it to the user that runs svc, or set SVC_DATA_DIR to another folder`,
    )
  }
}

/** Returns the real path of the data folder's cluster, or undefined before the first start. */
export const findCluster = async (folder: string): Promise<string | undefined> => {
  const path = join(folder, 'pgdata')
  // A dangling link is not replaced by a new cluster: the start fails and names what is missing.
  return realpath(path)
    .catch(() => readlink(path))
    .catch(() => undefined)
}

/** Returns the line of a PostgreSQL program's output that names the error. */
export const errorLine = (output: string): string => {
  const lines = output.trim().split('\n')
  return lines.findLast((line) => /error|fatal|panic/i.test(line)) ?? lines.at(-1) ?? ''
}

const unlessExists = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error
}

/** Writes a file of the data folder atomically, with mode 600. */
const writeAtomically = (folder: string, name: string, text: string, publish: typeof link): Promise<void> =>
  withBuildLock(folder, async () => {
    const temporary = join(folder, newName())
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' })
    await publish(temporary, join(folder, name)).catch(unlessExists)
    await rm(temporary, { force: true })
  })

/** Reads such a file. Throws Problem `configuration` if it can't be read. */
const readOwn = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error) => {
    throw unwritable(path, error.code)
  })

/** Returns the password of the superuser: 256 random bits in hexadecimal, generated once. */
export const readPassword = async (folder: string): Promise<string> => {
  const path = join(folder, 'postgres.password')
  if (!existsSync(path)) await writeAtomically(folder, 'postgres.password', randomBytes(32).toString('hex'), link)
  return readOwn(path)
}

/** Returns a port below the range of outgoing connections, so that none of those can occupy it. */
const randomPort = () => String(randomInt(12_000, 32_000))

/** Returns the port, which is stored in the data folder so that clients find a restarted server. */
export const readPort = async (folder: string): Promise<number> => {
  const path = join(folder, 'postgres.port')
  if (!existsSync(path)) await writeAtomically(folder, 'postgres.port', randomPort(), link)
  return Number(await readOwn(path))
}

/** Chooses another port. Called with the cluster's lock held, after another program was found to use the current one. */
export const changePort = (folder: string): Promise<void> =>
  writeAtomically(folder, 'postgres.port', randomPort(), rename)

/** Returns a name for an unfinished file or folder: `new.<random>`, which `sweep` finds. */
const newName = () => `new.${randomBytes(8).toString('hex')}`

/** Removes unfinished files and folders of killed processes. What can't be removed is retried at the next start. */
export const sweep = async (folder: string): Promise<void> => {
  const unfinished = async (place: string) =>
    (await readdir(place).catch(() => [])).filter((name) => name.startsWith('new.'))
  for (const place of [folder, systemFolder]) {
    if ((await unfinished(place)).length === 0) continue
    const discardAll = async () => {
      for (const name of await unfinished(place)) await discard(join(place, name)).catch(() => undefined)
    }
    await withSweepLock(place, discardAll).catch(() => undefined)
  }
}

/**
 * Removes a folder as the folder's owner. If root removed it, its owner could meanwhile replace parts of it with links to other
 * folders.
 */
const removeFolder = async (path: string): Promise<void> => {
  const { uid, gid } = await lstat(path)
  if (!isRoot() || uid === 0) return rm(path, { recursive: true, force: true, maxRetries: 3 })
  await promisify(execFile)('rm', ['-rf', '--', path], spawnOptions({ uid, gid })).catch(() => undefined)
  await rm(path, { force: true }).catch(() => rmdir(path))
}

/** Removes an unfinished file or folder and, in the system folder, the target of its link, unless that contains the cluster. */
const discard = async (path: string): Promise<void> => {
  const entry = await lstat(path)
  if (entry.isDirectory()) return removeFolder(path)
  const target = entry.isSymbolicLink() ? await realpath(path).catch(() => undefined) : undefined
  const cluster = await findCluster(dirname(path))
  if (target && dirname(target) === systemFolder && !cluster?.startsWith(`${target}/`)) await removeFolder(target)
  await rm(path, { force: true })
}

/**
 * Creates a folder to build in: inside the data folder, which becomes passable for that (mode 711; its files have 600), or, if
 * the server's user can't pass through the folders above, in the system folder with a link from the data folder.
 */
const openSite = async (folder: string, user?: ServerUser): Promise<{ site: string; path: string }> => {
  const site = join(folder, newName())
  if (user && canReach(user, dirname(folder)) && !canReach(user, folder)) await chmod(folder, 0o711)
  const outside = user && !canReach(user, folder)
  const path = outside ? join(await openSystemFolder(), randomBytes(8).toString('hex')) : site
  if (outside) await symlink(path, site)
  await mkdir(path, { mode: 0o700 })
  return { site, path }
}

const initialise = async (
  native: string,
  path: string,
  password: string,
  user?: ServerUser,
  onWaiting?: () => void,
): Promise<void> => {
  const secret = join(path, 'password')
  await writeFile(secret, password, { mode: 0o600, flag: 'wx' })
  // The folder comes last: until then only root can write there.
  if (user) for (const created of [secret, path]) await chown(created, user.uid, user.gid)
  const flags = ['-D', join(path, 'data'), '-U', superuser, `--pwfile=${secret}`, '-A', 'scram-sha-256']
  const locale = ['-E', 'UTF8', '--no-locale', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  // Key stretching adds nothing to a password of 256 random bits, and connecting is cheaper without it.
  const settings = ['-c', 'scram_iterations=1', '--no-instructions']
  const command = await asOtherThanRoot([join(native, 'bin/initdb'), ...flags, ...locale, ...settings], user)
  const run = runNamed(command, spawnOptions(user), path)
  onWaiting?.()
  await run.catch((error) => {
    const isBelow = command[0] === 'unshare'
    if (error.code === 'ENOENT') throw isBelow ? soleRoot() : unsupported()
    if (error instanceof Problem) throw error
    if (isBelow && error.stderr?.startsWith('unshare: ')) throw soleRoot()
    throw new Problem(
      'unavailable',
      `The embedded database can't be created: ${errorLine(error.stderr || error.message)}`,
    )
  })
  await unlink(secret)
}

/**
 * Creates the data folder's cluster and returns its real path. The cluster is built under a temporary name and published in one
 * step, so a killed process leaves no cluster or a complete one. If two processes build at once the first to publish wins.
 * `onWaiting` is called once `initdb` runs.
 */
export const createCluster = async (folder: string, native: string, onWaiting?: () => void): Promise<string> => {
  requirePrivate(folder)
  return withBuildLock(folder, async () => {
    const user = await serverUser(folder)
    const { site, path } = await openSite(folder, user)
    try {
      await initialise(native, path, await readPassword(folder), user, onWaiting)
      const pgdata = join(folder, 'pgdata')
      const publish = path === site ? rename : symlink
      await publish(join(path, 'data'), pgdata).catch(unlessExists)
      return await realpath(pgdata)
    } finally {
      await discard(site)
    }
  })
}

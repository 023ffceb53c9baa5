import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  constants,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Problem } from '../lib/problem.ts'
import { openSystemPlace } from './embedded.binaries.ts'
import { building, sweeping } from './embedded.lock.ts'
import { runNamed } from './embedded.named.ts'
import {
  isRoot,
  reaches,
  type ServerUser,
  serverUser,
  spawnOptions,
  systemPlace,
  unsupported,
} from './embedded.user.ts'

export const superuser = 'svc'

/**
 * Makes the data folder where it is missing (mode 700) and gives its real path. A Problem of kind configuration where this process can't write there.
 */
export const prepareFolder = async (dataDir: string): Promise<string> => {
  const path = resolve(dataDir)
  try {
    await mkdir(dirname(path), { recursive: true })
    await mkdir(path, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    await readdir(path)
    return await realpath(path)
  } catch {
    throw new Problem(
      'configuration',
      `The data folder ${path} can't be written: give it to the user that runs svc, or set SVC_DATA_DIR to another folder`,
    )
  }
}

/** The real path of the data folder's cluster, undefined before the first start. */
export const findCluster = async (folder: string): Promise<string | undefined> => {
  const path = join(folder, 'pgdata')
  // A link to nothing is no cluster to make anew: the server will say what is missing.
  return realpath(path)
    .catch(() => readlink(path))
    .catch(() => undefined)
}

/** The line in which one of PostgreSQL's programs says what went wrong. */
export const complaint = (output: string): string => {
  const lines = output.trim().split('\n')
  return lines.findLast((line) => /error|fatal|panic/i.test(line)) ?? lines.at(-1) ?? ''
}

const unlessExists = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error
}

/** Writes a file of the data folder so that it appears whole, with mode 600 and the folder's owner. */
const writeWhole = (folder: string, name: string, text: string, publish: typeof link): Promise<void> =>
  building(folder, async () => {
    const temporary = join(folder, newName())
    await writeFile(temporary, text, { mode: 0o600 })
    const { uid, gid } = await stat(folder)
    if (isRoot()) await chown(temporary, uid, gid)
    await publish(temporary, join(folder, name)).catch(unlessExists)
    await rm(temporary, { force: true })
  })

/** The password of the superuser: 256 random bits in hexadecimal digits, made once. */
export const readPassword = async (folder: string): Promise<string> => {
  const path = join(folder, 'postgres.password')
  if (!existsSync(path)) await writeWhole(folder, 'postgres.password', randomBytes(32).toString('hex'), link)
  return readFile(path, 'utf8')
}

/** Below the range of outgoing connections: one of them, or a client's own retry, could sit on the port otherwise. */
const anyPort = () => String(randomInt(12_000, 32_000))

/** The port kept in the data folder, so that clients find a restarted server. */
export const readPort = async (folder: string): Promise<number> => {
  const path = join(folder, 'postgres.port')
  if (!existsSync(path)) await writeWhole(folder, 'postgres.port', anyPort(), link)
  return Number(await readFile(path, 'utf8'))
}

/** Takes another port, when the server, holding the cluster's lock, found this one in use by somebody else. */
export const changePort = (folder: string): Promise<void> => writeWhole(folder, 'postgres.port', anyPort(), rename)

/** Unfinished things are called `new.<random>`, for `sweep` to find. */
const newName = () => `new.${randomBytes(8).toString('hex')}`

/** Removes what processes that were killed left unfinished. Best effort: what resists goes next time. */
export const sweep = async (folder: string): Promise<void> => {
  const unfinished = async (place: string) =>
    (await readdir(place).catch(() => [])).filter((name) => name.startsWith('new.'))
  for (const place of [folder, systemPlace]) {
    if ((await unfinished(place)).length === 0) continue
    const discardAll = async () => {
      for (const name of await unfinished(place)) await discard(join(place, name)).catch(() => undefined)
    }
    await sweeping(place, discardAll).catch(() => undefined)
  }
}

/** Removes an unfinished folder or, in the system place, what it links to, unless that holds the cluster. */
const discard = async (path: string): Promise<void> => {
  const target = await realpath(path).catch(() => path)
  const cluster = await findCluster(dirname(path))
  if (!cluster?.startsWith(target)) await rm(target, { recursive: true, force: true, maxRetries: 3 })
  await rm(path, { force: true })
}

/**
 * A folder of the server's user to build in: inside the data folder, which opens to passing through for that (mode 711,
 * its files have 600), or, where the folders above are closed, in the system place and linked from there.
 */
const openSite = async (folder: string, user?: ServerUser): Promise<{ site: string; path: string }> => {
  const site = join(folder, newName())
  if (user && (await reaches(user, dirname(folder))) && !(await reaches(user, folder))) await chmod(folder, 0o711)
  const outside = user && !(await reaches(user, folder))
  const path = outside ? join(await openSystemPlace(), randomBytes(8).toString('hex')) : site
  if (outside) await symlink(path, site)
  await mkdir(path, { mode: 0o700 })
  if (user) await chown(path, user.uid, user.gid)
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
  await writeFile(secret, password, { mode: 0o600 })
  if (user) await chown(secret, user.uid, user.gid)
  const flags = ['-D', join(path, 'data'), '-U', superuser, `--pwfile=${secret}`, '-A', 'scram-sha-256']
  const locale = ['-E', 'UTF8', '--no-locale', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  // A password of 256 random bits gains nothing from key stretching, and connections become cheap without.
  const settings = ['-c', 'scram_iterations=1', '--no-instructions']
  const command = [join(native, 'bin/initdb'), ...flags, ...locale, ...settings]
  const run = runNamed(command, spawnOptions(user), path)
  onWaiting?.()
  await run.catch((error) => {
    if (error.code === 'ENOENT') throw unsupported()
    if (error instanceof Problem) throw error
    throw new Problem('unavailable', `The embedded database can't be made: ${complaint(error.stderr || error.message)}`)
  })
  await unlink(secret)
}

/**
 * Makes the data folder's cluster and gives its real path. It is built aside and published in one step, so a kill
 * leaves none or a whole one; of two processes that build at once the first to publish wins. `onWaiting` is called once
 * `initdb` runs.
 */
export const createCluster = (folder: string, native: string, onWaiting?: () => void): Promise<string> =>
  building(folder, async () => {
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

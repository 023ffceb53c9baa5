import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Problem } from '../lib/problem.ts'
import { canReach, isRoot, type ServerUser } from './user.ts'

/*
 * Everything in the data folder belongs to the folder's owner and is always private to that owner (600, 700), whatever the umask.
 * Root does not write in the folder of another user: it becomes that user first (`actAsOwner`).
 */

const statsOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

/** Yields each file system entry that decides where a path leads: every parent folder and every link, from the top down. */
function* entriesOn(path: string): Generator<Stats> {
  const above = dirname(path)
  if (above !== path) yield* entriesOn(above)
  const found = statsOf(path)
  if (found) yield found
  if (found?.isSymbolicLink()) yield* entriesOn(resolve(above, readlinkSync(path)))
}

const writableByOthers = (path: string) =>
  new Problem('configuration', `Other users can write to the data folder ${path}`, {
    hint: 'chmod go-w it and the folders above it, or set SVC_DATA_DIR to a folder that only its owner may write',
  })

/** Throws Problem `configuration` if group or others may write to the folder: they could replace files that svc creates there. */
export const requirePrivate = (path: string): void => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && found.mode & 0o022) throw writableByOthers(path)
}

// Missing in Node's types.
const { initgroups } = process as unknown as { initgroups(user: number, group: number): void }

const becomeUser = (path: string, { uid, gid }: ServerUser): void => {
  const refused = (reason: string) =>
    new Problem('configuration', `User id ${uid} controls the data folder ${path}, and ${reason}`, {
      hint: 'run svc as that user, or give the folder and those above it to root',
    })
  if (!canReach({ uid, gid }, import.meta.dirname))
    throw refused(`that user can't reach the program in ${import.meta.dirname}`)
  try {
    try {
      initgroups(uid, gid)
    } catch {
      // The user id has no name, so it has no supplementary groups.
      process.setgroups!([gid])
    }
    process.setgid!(gid)
    process.setuid!(uid)
  } catch {
    throw refused("this process can't become that user")
  }
}

/**
 * If the process runs as root, it permanently becomes the user that controls the data folder: the first owner other than root
 * among the folders of its path. That user could replace any file with a link at any moment. Call this before the folder is read
 * or written. Throws Problem `configuration` if root can't become that user, or if any user may write to a folder of the path.
 */
export const actAsOwner = (dataDir: string): void => {
  if (!isRoot()) return
  const path = resolve(dataDir)
  for (const entry of entriesOn(path)) {
    if (entry.uid !== 0) {
      becomeUser(path, entry)
      return
    }
    const isSticky = (entry.mode & 0o1000) !== 0
    if (entry.isDirectory() && entry.mode & 0o002 && !isSticky) throw writableByOthers(path)
  }
  requirePrivate(path)
}

/**
 * Returns whether the data folder has a database. Returns true if that can't be determined, or if `pgdata` is a broken link, because
 * opening it then reports the error.
 */
export const hasCluster = (dataDir: string): boolean => {
  try {
    lstatSync(join(dataDir, 'pgdata'))
    return true
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}

const folderName = '.svc'

/**
 * Whether a `.svc` folder above `from` belongs to this user, or for root to the owner of `from`. Another user could place one in a
 * parent folder such as /tmp and so receive all data.
 */
const isTrusted = ({ uid }: Stats, from: string): boolean =>
  uid === process.getuid?.() || (isRoot() && uid === statsOf(from)?.uid)

/**
 * Returns the data folder if none is named: `.svc` in the folder `from` or in the nearest parent that has one, as git finds a
 * repository. A `.svc` of a parent counts only if it is trusted. If there is none: `.svc` in `from`.
 */
export const findDataFolder = (from: string): string => {
  const here = join(from, folderName)
  if (statsOf(here)) return here
  for (let [below, above] = [from, dirname(from)]; above !== below; [below, above] = [above, dirname(above)]) {
    const path = join(above, folderName)
    const found = statsOf(path)
    if (found && isTrusted(found, from) && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  }
  return here
}

const makeFolder = (path: string, mode = 0o700): void => {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Creates a folder and those above it. Node's `recursive` never ends on a file system that can't hold the folder, such as /proc. */
const makeFolders = (path: string): void => {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  makeFolder(path, 0o777)
}

/** Creates the data folder if it is missing. */
export const makeDataFolder = (dataDir: string): void => {
  actAsOwner(dataDir)
  makeFolders(dirname(dataDir))
  makeFolder(dataDir)
}

/** Creates a folder in the data folder if it is missing. */
export const makeInside = (path: string): void => makeFolder(path)

/**
 * Returns the text of a file in the data folder, or null if there is none. Throws Problem `configuration` if this user can't
 * read it.
 */
export const readInside = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new Problem('configuration', `The file ${path} can't be read (${code})`, {
      hint: 'run svc as the user that owns the data folder, or set SVC_DATA_DIR to another folder',
    })
  }
}

/**
 * Writes a file in the data folder atomically. `publish` gives it its final name: `linkSync` keeps an existing file and throws
 * EEXIST. If `flush` is set, the content survives a power failure.
 */
export const writeInside = (path: string, text: string, { publish = renameSync, flush = false } = {}): void => {
  const draft = `${path}.${randomBytes(4).toString('hex')}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(file, text, { flush })
    publish(draft, path)
  } finally {
    closeSync(file)
    rmSync(draft, { force: true })
  }
}

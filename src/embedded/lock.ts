import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../lib/problem.ts'
import { isRoot, unsupported, unwritable } from './user.ts'

interface Native {
  /** Returns false if another lock conflicts. The lock belongs to the open file: a process that inherits the file holds it too. */
  tryLock(fd: number, options: { shared: boolean }): boolean
}

/** Loads the native module at the first lock: a command that finds its server running does not need it. */
const loadNative = (): Native => {
  try {
    return createRequire(import.meta.url)('fs-native-extensions')
  } catch {
    throw unsupported()
  }
}

/**
 * Locks an open file and returns it. If another lock conflicts, closes it and returns undefined. Throws Problem `configuration` if the
 * file system has no locks.
 */
const tryLock = async (file: FileHandle, path: string, shared: boolean): Promise<FileHandle | undefined> => {
  let locked = false
  try {
    locked = loadNative().tryLock(file.fd, { shared })
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem(
      'configuration',
      `The file system of ${path} does not support locks: set SVC_DATA_DIR to a folder on a local disk, or DATABASE_URL to a PostgreSQL 15 or newer`,
    )
  } finally {
    if (!locked) await file.close()
  }
  return locked ? file : undefined
}

/**
 * Locks a cluster; returns undefined if a server holds the lock. The server inherits the open file, so each of its processes
 * holds the lock, in any container and under any name of the folder, and the kernel releases it when the last of them ends. The
 * locked file exists in every cluster, and no program has a reason to delete or replace it.
 */
export const lockCluster = async (pgdata: string): Promise<FileHandle | undefined> => {
  const path = join(pgdata, 'PG_VERSION')
  const unusable = (code: string) =>
    new Problem(
      'configuration',
      code === 'ENOENT'
        ? `The embedded database is not in ${pgdata}: restore it, or mount it beside the data folder that leads there`
        : `The embedded database can't be written (${code}, ${path}): give it to the user that runs svc`,
    )
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW).catch((error) => {
    throw unusable(error.code)
  })
  // The server inherits the open file. A hard link in its folder could make that a file of root.
  const [{ uid }, cluster] = await Promise.all([file.stat(), stat(pgdata)])
  if (isRoot() && uid !== cluster.uid) {
    await file.close()
    throw unusable('another owner')
  }
  return tryLock(file, path, false)
}

/** Locks a file of the data folder, which is created if missing. Returns undefined if another lock conflicts. */
const lockFile = async (path: string, shared: boolean): Promise<FileHandle | undefined> => {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW
  const file = await open(path, flags, 0o600).catch((error) => {
    throw unwritable(path, error.code)
  })
  return tryLock(file, path, shared)
}

/** Locks a file of the data folder until the handle is closed or the process ends. Returns undefined if it is locked already. */
export const lockExclusively = (path: string): Promise<FileHandle | undefined> => lockFile(path, false)

/** Locks an open file until it is closed. Returns false if it is locked already, and null where there are no locks. */
export const lockOpen = (fd: number): boolean | null => {
  try {
    return loadNative().tryLock(fd, { shared: false })
  } catch {
    return null
  }
}

/** Locks the unfinished files of a folder: shared in order to build some, exclusive in order to remove abandoned ones. */
const lockUnfinished = (folder: string, shared: boolean): Promise<FileHandle | undefined> =>
  lockFile(join(folder, 'building.lock'), shared)

/** Runs `run`, which builds something under a temporary name in a folder. No process sweeps the folder meanwhile. */
export const withBuildLock = async <T>(folder: string, run: () => Promise<T>): Promise<T> => {
  let lock = await lockUnfinished(folder, true)
  while (!lock) {
    // Sweeps are short.
    await sleep(5)
    lock = await lockUnfinished(folder, true)
  }
  try {
    return await run()
  } finally {
    await lock.close()
  }
}

/** Runs `run`, which removes unfinished files, unless another process is building in the folder. */
export const withSweepLock = async (folder: string, run: () => Promise<void>): Promise<void> => {
  const lock = await lockUnfinished(folder, false)
  if (!lock) return
  try {
    await run()
  } finally {
    await lock.close()
  }
}

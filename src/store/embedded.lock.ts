import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../lib/problem.ts'
import { isRoot, unsupported } from './embedded.user.ts'

interface Native {
  /** False where somebody else's lock is in the way. Of an open file: whoever inherits it holds the lock too. */
  tryLock(fd: number, options: { shared: boolean }): boolean
}

/** Loaded at the first lock: a command that finds its server running goes without. */
const loadNative = (): Native => {
  try {
    return createRequire(import.meta.url)('fs-native-extensions')
  } catch {
    throw unsupported()
  }
}

/** Locks an open file and gives it back, or closes it: undefined where somebody else's lock is in the way. */
const tryLock = async (file: FileHandle, path: string, shared: boolean): Promise<FileHandle | undefined> => {
  let locked = false
  try {
    locked = loadNative().tryLock(file.fd, { shared })
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem(
      'configuration',
      `The file system of ${path} takes no locks: set SVC_DATA_DIR to a folder on a local disk, or DATABASE_URL to a PostgreSQL 15 or newer`,
    )
  } finally {
    if (!locked) await file.close()
  }
  return locked ? file : undefined
}

/**
 * The lock of a cluster, undefined where a server has it. The server inherits the open file, so every one of its
 * processes holds the lock and the kernel drops it with the last of them, whatever container or name of the folder they
 * know it by. The file locked is one that no cluster is without and nobody has a reason to delete or replace.
 */
export const lockCluster = async (pgdata: string): Promise<FileHandle | undefined> => {
  const path = join(pgdata, 'PG_VERSION')
  const file = await open(path, constants.O_RDWR).catch((error) => {
    throw new Problem(
      'configuration',
      error.code === 'ENOENT'
        ? `The embedded database is not in ${pgdata}: restore it, or mount it beside the data folder that leads there`
        : `The embedded database can't be written (${error.code}, ${path}): give it to the user that runs svc`,
    )
  })
  return tryLock(file, path, false)
}

/** The lock of a folder's unfinished things: shared by who makes some, exclusive for who takes the abandoned ones away. */
const lockUnfinished = async (folder: string, shared: boolean): Promise<FileHandle | undefined> => {
  const path = join(folder, 'building.lock')
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  const { uid, gid } = await stat(dirname(path))
  if (isRoot()) await file.chown(uid, gid)
  return tryLock(file, path, shared)
}

/** Runs what makes something under a temporary name in a folder; as long as it runs nobody sweeps there. */
export const building = async <T>(folder: string, run: () => Promise<T>): Promise<T> => {
  let lock = await lockUnfinished(folder, true)
  while (!lock) {
    await sleep(5)
    lock = await lockUnfinished(folder, true)
  }
  try {
    return await run()
  } finally {
    await lock.close()
  }
}

/** Runs what takes unfinished things away, unless somebody is building in the folder. */
export const sweeping = async (folder: string, run: () => Promise<void>): Promise<void> => {
  const lock = await lockUnfinished(folder, false)
  if (!lock) return
  try {
    await run()
  } finally {
    await lock.close()
  }
}

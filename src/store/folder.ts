import { chownSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/*
 * What stands in the data folder is for its owner alone, at every moment and whatever the umask, and belongs to its owner,
 * also where root writes it: another start may run as that user.
 */

/** The owner of the data folder gets what root has made in it. */
const handOver = (folder: string, path: string): void => {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  chownSync(path, uid, gid)
}

const makeFolder = (path: string): boolean => {
  try {
    mkdirSync(path, { mode: 0o700 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

/** Makes the data folder where it is missing. */
export const makeDataFolder = (dataDir: string): void => {
  mkdirSync(dirname(dataDir), { recursive: true })
  makeFolder(dataDir)
}

/** Makes a folder in the data folder where it is missing. */
export const makeInside = (dataDir: string, path: string): void => {
  if (makeFolder(path)) handOver(dataDir, path)
}

/**
 * Writes a file in the data folder so that it appears whole or not at all. `publish` gives it its name: `linkSync` leaves
 * one that is there, and throws EEXIST.
 */
export const writeInside = (dataDir: string, path: string, text: string, publish = renameSync): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  try {
    handOver(dataDir, draft)
    publish(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}

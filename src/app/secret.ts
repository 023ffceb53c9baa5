import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '../lib/problem.ts'
import { makeDataFolder, writeInside } from '../store/folder.ts'

/* The secret that a data folder keeps, where none is given. */

const secretFile = (dataDir: string): string => join(dataDir, 'secret')

/** The secret that the data folder keeps; null where it keeps none. */
export const findSecret = (dataDir: string): string | null =>
  existsSync(secretFile(dataDir)) ? readFileSync(secretFile(dataDir), 'utf8').trim() : null

/** The embedded database brings its secret along: made once, by the first of two processes, and kept in the data folder. */
export const keptSecret = (dataDir: string): string => {
  const file = secretFile(dataDir)
  try {
    makeDataFolder(dataDir)
    if (!existsSync(file)) makeSecret(dataDir, file)
    const secret = findSecret(dataDir) ?? ''
    if (secret.length >= 16) return secret
  } catch (error) {
    throw new Problem(
      'configuration',
      `The data folder ${dataDir} can't be used (${(error as NodeJS.ErrnoException).code})`,
      {
        hint: 'set SVC_DATA_DIR to a folder that this user may write',
      },
    )
  }
  throw new Problem('configuration', `The file ${file} holds no secret`, { hint: 'restore it, or set SVC_SECRET' })
}

const makeSecret = (dataDir: string, file: string): void => {
  try {
    writeInside(dataDir, file, randomBytes(32).toString('base64url'), linkSync)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const draftFile = (dataDir: string): string => `${secretFile(dataDir)}.new`

/** Whether the secret is kept in the data folder, and not given. */
export const keepsSecret = (env: Record<string, string | undefined> = process.env): boolean =>
  !env.DATABASE_URL && !env.DATABASE_URL_FILE && !env.SVC_SECRET && !env.SVC_SECRET_FILE

/**
 * The secret that is to be kept next: `given`, or the one that an earlier call left, or a new one. It stands beside the kept
 * one until `keepDraft`, so that whatever dies between the database's change and the folder's, both are there.
 */
export const draftSecret = (dataDir: string, given: string | null): string => {
  const file = draftFile(dataDir)
  if (given === null && existsSync(file)) return readFileSync(file, 'utf8').trim()
  const secret = given ?? randomBytes(32).toString('base64url')
  rmSync(file, { force: true })
  writeFileSync(file, secret, { mode: 0o600, flush: true })
  const { uid, gid } = statSync(secretFile(dataDir))
  if (process.getuid?.() === 0) chownSync(file, uid, gid)
  return secret
}

/** From now on the drafted secret is the one that the folder keeps. */
export const keepDraft = (dataDir: string): void => renameSync(draftFile(dataDir), secretFile(dataDir))

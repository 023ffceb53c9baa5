import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { hasCluster, makeDataFolder, readInside, requirePrivate, writeInside } from '../embedded/folder.ts'
import { Problem } from '../lib/problem.ts'

/* The secret in the data folder, used if the environment sets none. */

const secretFile = (dataDir: string): string => join(dataDir, 'secret')

/** Returns the secret in the data folder, or null if there is none. */
export const findSecret = (dataDir: string): string | null => readInside(secretFile(dataDir))?.trim() ?? null

/** Returns the Problem of a database without its secret. A new secret could decrypt nothing in it. */
export const lostSecret = (dataDir: string) =>
  new Problem('configuration', `SVC_SECRET is not set, and ${dataDir} has no file secret`, {
    hint: 'set SVC_SECRET or SVC_SECRET_FILE as the daemon has it',
  })

/**
 * Returns the secret in the data folder and creates it if necessary. If two processes race, both get the same secret. Throws Problem
 * `configuration` if the folder has a database and no secret.
 */
export const keptSecret = (dataDir: string): string => {
  const file = secretFile(dataDir)
  try {
    makeDataFolder(dataDir)
    // Checked before the secret: another process that is creating both writes the secret first.
    const isOld = hasCluster(dataDir)
    if (!existsSync(file)) {
      requirePrivate(dataDir)
      if (isOld) throw lostSecret(dataDir)
      makeSecret(file)
    }
    const secret = findSecret(dataDir) ?? ''
    if (secret.length >= 16) return secret
  } catch (error) {
    if (error instanceof Problem) throw error
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

const newSecret = (): string => randomBytes(32).toString('base64url')

const makeSecret = (file: string): void => {
  try {
    writeInside(file, newSecret(), { publish: linkSync, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const draftFile = (dataDir: string): string => `${secretFile(dataDir)}.new`

/** Whether the secret is in the data folder, and not in the environment. */
export const keepsSecret = (env: Record<string, string | undefined> = process.env): boolean =>
  !env.DATABASE_URL && !env.DATABASE_URL_FILE && !env.SVC_SECRET && !env.SVC_SECRET_FILE

/** Returns the draft of an earlier rotation that was interrupted, or null if there is none. */
export const findDraft = (dataDir: string): string | null => {
  const file = draftFile(dataDir)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new Problem('configuration', `The file ${file} can't be read (${code})`, {
      hint: 'it may hold the secret of the database: make it readable for this user',
    })
  }
}

/** Returns the next secret: `given`, or the existing draft, or a new one. Writes nothing. */
export const nextSecret = (dataDir: string, given: string | null): string => given ?? findDraft(dataDir) ?? newSecret()

/**
 * Writes the next secret beside the current one. Both exist until `keepDraft`, so that a crash between the changes of the
 * database and of the folder loses neither. Replaces an earlier draft: the caller has checked that the database does not
 * use it.
 */
export const writeDraft = (dataDir: string, secret: string): void =>
  writeInside(draftFile(dataDir), secret, { flush: true })

/** Makes the draft the secret of the data folder. */
export const keepDraft = (dataDir: string): void => renameSync(draftFile(dataDir), secretFile(dataDir))

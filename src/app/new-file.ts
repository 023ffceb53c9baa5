import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, openSync, renameSync, rmSync, statSync, type WriteStream } from 'node:fs'
import { conflict } from '../lib/problem.ts'

/** Throws Problem `conflict` if there is a file. */
export const requireNoFile = (file: string): void => {
  if (existsSync(file)) throw conflict(`${file} already exists`, { hint: 'name another file' })
}

interface NewFile {
  target: WriteStream
  /**
   * Renames the complete file to its final name, and returns its size in bytes. Throws Problem `conflict` if that name is taken by
   * then.
   */
  publish(): number
  /** Deletes the temporary file. */
  discard(): void
}

/**
 * Opens a new file that only this user can read. Until `publish` it has a temporary name beside the final one, which is different for
 * each command, so that two commands never write to the same file. Throws Problem `conflict` if there is a file of that name.
 */
export const openNewFile = (file: string): NewFile => {
  requireNoFile(file)
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  const target = createWriteStream(part, { fd: openSync(part, 'wx', 0o600), flush: true })
  return {
    target,
    publish() {
      requireNoFile(file)
      renameSync(part, file)
      return statSync(file).size
    },
    discard: () => rmSync(part, { force: true }),
  }
}

import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, openSync, renameSync, rmSync, statSync, type WriteStream } from 'node:fs'
import { conflict } from '../lib/problem.ts'

/** Throws Problem `conflict` if there is a file. */
export const requireNoFile = (file: string): void => {
  if (existsSync(file)) throw conflict(`${file} already exists`, { hint: 'name another file' })
}

interface NewFile {
  target: WriteStream
  /** Gives the complete file its name, and returns its size. Throws Problem `conflict` if another command did so meanwhile. */
  publish(): number
  /** Deletes what is not published. */
  discard(): void
}

/** Opens a file of this user alone that has its name once it is complete. Another command that writes one of that name has its own. */
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

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  createWriteStream,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  type WriteStream,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lockOpen } from '../embedded/lock.ts'
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

/** Deletes the temporary files of commands that were killed: no process has them locked. */
const sweepParts = (file: string): void => {
  const [folder, name] = [dirname(file), basename(file)]
  for (const one of readdirSync(folder)) {
    if (!one.startsWith(`${name}.`) || !/^\.[0-9a-f]{8}\.part$/.test(one.slice(name.length))) continue
    const part = join(folder, one)
    try {
      const fd = openSync(part, 'r+')
      if (lockOpen(fd)) rmSync(part, { force: true })
      closeSync(fd)
    } catch {
      // It has got its name meanwhile, or belongs to another user.
    }
  }
}

/** Creates a temporary file beside the final one, and locks it. */
const openPart = (file: string): { part: string; lock: number } => {
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  const lock = openSync(part, 'wx', 0o600)
  if (lockOpen(lock) !== false && fstatSync(lock).nlink > 0) return { part, lock }
  // Another command took the file for one of a killed command before it was locked.
  closeSync(lock)
  rmSync(part, { force: true })
  return openPart(file)
}

/**
 * Opens a new file that only this user can read. Until `publish` it has a temporary name beside the final one, which is different for
 * each command, so that two commands never write to the same file. Throws Problem `conflict` if there is a file of that name.
 */
export const openNewFile = (file: string): NewFile => {
  requireNoFile(file)
  const { part, lock } = openPart(file)
  sweepParts(file)
  const target = createWriteStream(part, { fd: openSync(part, 'r+'), flush: true })
  return {
    target,
    publish() {
      requireNoFile(file)
      renameSync(part, file)
      closeSync(lock)
      return statSync(file).size
    },
    discard: () => rmSync(part, { force: true }),
  }
}

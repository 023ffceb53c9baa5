import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { notFound, Problem } from '../../lib/problem.ts'

/** The input of an import: a file, or standard input, which can be read only once. */
export interface Source {
  /** Absolute path, or `-`. */
  file: string
  /** It is null for standard input. */
  sha256: string | null
  /** It is null for standard input. */
  size: number | null
  open(): AsyncIterable<Buffer>
  /** Bytes read from the latest `open`. */
  bytesRead(): number
}

const chunkBytes = 64 * 1024

/** Returns the error for the caller; an `AbortError` unchanged. */
const unreadable = (file: string, error: NodeJS.ErrnoException) => {
  const { code = '' } = error
  if (error.name === 'AbortError') return error
  if (code === 'ENOENT' || code === 'ENOTDIR') return notFound(`There is no file ${file}`)
  return new Problem('usage', `The file ${file} can't be read (${code})`)
}

const counted = (open: () => AsyncIterable<Buffer>): Pick<Source, 'open' | 'bytesRead'> => {
  let bytes = 0
  return {
    bytesRead: () => bytes,
    async *open() {
      bytes = 0
      for await (const chunk of open()) {
        bytes += chunk.length
        yield chunk
      }
    },
  }
}

/**
 * Opens a file and hashes it in one pass, in constant memory. This pass and later ones throw Problem `not_found` or `usage`, and end when
 * `signal` is aborted.
 */
export const openFile = async (file: string, signal: AbortSignal): Promise<Source> => {
  const open = async function* (): AsyncGenerator<Buffer> {
    try {
      yield* createReadStream(file, { highWaterMark: chunkBytes, signal })
    } catch (error) {
      throw unreadable(file, error as NodeJS.ErrnoException)
    }
  }
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of open()) {
    hash.update(chunk)
    size += chunk.length
  }
  return { file, sha256: hash.digest('hex'), size, ...counted(open) }
}

export const openStdin = (signal: AbortSignal): Source => ({
  file: '-',
  sha256: null,
  size: null,
  ...counted(() => addAbortSignal(signal, process.stdin)),
})

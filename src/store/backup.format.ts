import { createHash } from 'node:crypto'
import { invalid } from '../lib/problem.ts'

/*
 * A backup is a stream of frames, compressed as one (zstd): a byte for the kind, four for the length, the content.
 * H: what it is of, JSON · T: a table and its columns, JSON · D: rows of it, as COPY gives them · E: what was written, with
 * the hash of all before, JSON.
 */

export const frameKinds = { header: 'H', table: 'T', data: 'D', end: 'E' } as const
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds]

export interface Header {
  format: 'svc backup 1'
  /** Of the program that wrote it. */
  version: string
  /** epoch ms */
  createdAt: number
  /** The migrations that its database had. */
  migrations: string[]
  /** Of the `SVC_SECRET` that sealed what is in it; null: nobody had opened the database yet. */
  secretFingerprint: string | null
}

export interface TableHead {
  table: string
  columns: string[]
}

export interface End {
  /** How many rows of each table. */
  rows: Record<string, number>
  /** The last value of each sequence that was used. */
  sequences: Record<string, number>
  sha256: string
}

export interface Frame {
  kind: FrameKind
  content: Buffer
}

const headBytes = 5
/** More than COPY gives at once: a row is a message of its own, and PostgreSQL's are a gigabyte at most. */
const longest = 2 ** 30

export const encodeFrame = (kind: FrameKind, content: Buffer): Buffer => {
  const head = Buffer.alloc(headBytes)
  head.write(kind, 0, 'latin1')
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

export const encodeJson = (kind: FrameKind, value: object): Buffer =>
  encodeFrame(kind, Buffer.from(JSON.stringify(value)))

export const damaged = () => invalid('The file is no backup, or was cut off or altered')

/** JSON of a frame; throws Problem `invalid` where it is none. */
export const parseFrame = <Value>({ content }: Frame): Value => {
  try {
    return JSON.parse(content.toString())
  } catch {
    throw damaged()
  }
}

/** The frames of a decompressed backup, and `sha256`: of all that was read before the last frame given. */
export const readFrames = (source: AsyncIterable<Buffer>) => {
  const hash = createHash('sha256')
  let before = ''
  const frames = async function* (): AsyncGenerator<Frame, undefined> {
    let parts: Buffer[] = []
    let bytes = 0
    let wanted = headBytes
    for await (const part of source) {
      parts.push(part)
      bytes += part.length
      while (bytes >= wanted) {
        const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
        parts = [all]
        const length = all.readUInt32BE(1)
        if (length > longest) throw damaged()
        wanted = headBytes + length
        if (bytes < wanted) break
        before = hash.copy().digest('hex')
        hash.update(all.subarray(0, wanted))
        yield { kind: all.toString('latin1', 0, 1) as FrameKind, content: all.subarray(headBytes, wanted) }
        parts = [all.subarray(wanted)]
        bytes -= wanted
        wanted = headBytes
      }
    }
    if (bytes > 0) throw damaged()
  }
  return { frames: frames(), sha256: () => before }
}

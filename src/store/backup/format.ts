import { createHash } from 'node:crypto'
import { z } from 'zod'
import { invalid } from '../../lib/problem.ts'

/*
 * A backup is one zstd stream of frames: one byte for the kind, four for the length, then the content.
 * H: header, JSON · T: a table and its columns, JSON · D: rows of that table in COPY's text format · E: the counts of rows and
 * the hash of all frames before, JSON.
 */

export const frameKinds = { header: 'H', table: 'T', data: 'D', end: 'E' } as const
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds]

const name = z.string().min(1).max(63)
const count = z.int().min(0)

export const Header = z.object({
  format: z.literal('svc backup 1'),
  /** Version of the program that wrote the backup. */
  version: z.string().max(100),
  /** epoch ms */
  createdAt: count,
  /** The migrations that the database had. */
  migrations: z.array(z.string().max(200)),
  /** Fingerprint of the `SVC_SECRET` that sealed the values in it, or null if no process had opened the database yet. */
  secretFingerprint: z.string().nullable(),
})
export type Header = z.infer<typeof Header>

export const TableHead = z.object({ table: name, columns: z.array(name) })
export type TableHead = z.infer<typeof TableHead>

export const End = z.object({
  /** Number of rows by table. */
  rows: z.record(name, count),
  /** The last value of each sequence that was used. */
  sequences: z.record(name, count.min(1)),
  sha256: z.string(),
})
export type End = z.infer<typeof End>

export interface Frame {
  kind: FrameKind
  content: Buffer
}

const headBytes = 5
/** Longest content of a data frame. COPY's own chunks have the size of a read from the socket, about 64 KiB. */
export const dataBytes = 2 ** 20
/** Upper bound of memory for reading. A longer frame was not written by a backup. */
const longest = 2 ** 24

export const encodeFrame = (kind: FrameKind, content: Buffer): Buffer => {
  const head = Buffer.alloc(headBytes)
  head.write(kind, 0, 'latin1')
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

export const encodeJson = (kind: FrameKind, value: object): Buffer =>
  encodeFrame(kind, Buffer.from(JSON.stringify(value)))

export const damaged = (cause?: Error) => invalid('The file is not a backup, or damaged', cause && { cause })

/** Returns the JSON content of a frame; throws Problem `invalid` if it does not have the shape. */
export const parseFrame = <Value>({ content }: Frame, shape: z.ZodType<Value>): Value => {
  try {
    return shape.parse(JSON.parse(content.toString()))
  } catch (error) {
    throw damaged(error as Error)
  }
}

/** Returns the frames of a decompressed backup, and `sha256()`: the hash of everything before the frame that was read last. */
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

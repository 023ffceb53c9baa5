import type { IncomingMessage } from 'node:http'

/** Chunks are merged up to this size. Larger ones are passed on as they are. */
const mergedBytes = 16 * 1024

/** One-byte HTTP chunks cost a thousand times their size in CPU. After this many chunks, they must average 16 bytes. */
const freeChunks = 4096
const minAverageBytes = 16
/** A client that is refused receives the answer only after its chunks were read. More than these are not read. */
const maxRefusedChunks = 4 * freeChunks

const refused = new WeakSet<IncomingMessage>()

/** Whether `mergeChunks` ended the body of a request early because its chunks are too small. */
export const hasTinyChunks = (request: IncomingMessage): boolean => refused.has(request)

/**
 * Merges small chunks of a body before its stream buffers them: each chunk would take 400 bytes of memory while the key is looked
 * up, or after the body was refused. The stream receives the merged chunks after each turn of the event loop.
 */
export const mergeChunks = (request: IncomingMessage): void => {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let merged = Buffer.alloc(0)
  let used = 0
  let chunks = 0
  let bytes = 0
  let wantsMore = true
  const flush = () => {
    if (used > 0) wantsMore = push(merged.subarray(0, used))
    merged = merged.subarray(used)
    used = 0
  }
  const refuse = () => {
    refused.add(request)
    used = 0
    // If a stream ends before its message is complete, Node closes the connection without sending the answer.
    request.complete = true
    push(null)
  }
  request.push = (chunk: Buffer | null) => {
    if (refused.has(request)) return ++chunks < maxRefusedChunks
    if (chunk === null || chunk.length >= mergedBytes) {
      flush()
      return push(chunk)
    }
    bytes += chunk.length
    if (++chunks > freeChunks && bytes < minAverageBytes * chunks) {
      refuse()
      return true
    }
    if (used + chunk.length > merged.length) {
      flush()
      merged = Buffer.allocUnsafeSlow(mergedBytes)
    }
    if (used === 0) setImmediate(flush)
    used += chunk.copy(merged, used)
    return wantsMore
  }
}

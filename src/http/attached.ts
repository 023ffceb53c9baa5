import { randomUUID } from 'node:crypto'
import { decodeJsonBase64 } from '../lib/base64.ts'
import type { Body } from './bodies.ts'
import type { Route } from './route.ts'

/** Returns the JSON text of a body in which other strings stand for the long ones. */
const withoutLong = (body: Body): { text: Buffer; names: string[] } => {
  const unique = randomUUID()
  const pieces: Buffer[] = []
  let at = 0
  const names = body.long.map(({ from, to }, i) => {
    const name = `${unique} ${i}`
    pieces.push(...body.pieces(at, from), Buffer.from(name))
    at = to
    return name
  })
  pieces.push(...body.pieces(at, body.length))
  return { text: Buffer.concat(pieces), names }
}

/**
 * Parses a JSON body without its attachments, and decodes these piece by piece: parsing 14 MB takes 75 ms, for which all other calls
 * would wait. Returns undefined if a long string of the body is something else than the base64 of an attachment.
 */
export const parseAttached = async (
  body: Body,
  attachedOf: NonNullable<Route['attachedOf']>,
  parse: (text: Buffer) => Promise<unknown>,
): Promise<unknown> => {
  const { text, names } = withoutLong(body)
  const parsed = await parse(text)
  const attached = (attachedOf(parsed) ?? []).filter((holder) => names.includes(holder.content as string))
  if (attached.length !== names.length) return undefined
  for (const holder of attached) {
    const { from, to } = body.long[names.indexOf(holder.content as string)]!
    const decoded = await decodeJsonBase64(body.pieces(from, to), to - from)
    if (!decoded) return undefined
    holder.content = decoded
  }
  return parsed
}

import { hash } from 'node:crypto'
import { imageSize } from './image-size.ts'
import { invalid } from './problem.ts'

const types: readonly [type: string, matches: (start: string) => boolean][] = [
  ['image/png', (start) => start.startsWith('89504e470d0a1a0a')],
  ['image/jpeg', (start) => start.startsWith('ffd8ff')],
  ['image/webp', (start) => /^52494646.{8}57454250/.test(start)],
]

/** What is stored of an image beside its bytes. */
interface ImageFacts {
  type: string
  /** The beginning of its SHA-256, for its URL. */
  hash: string
  /** The width in pixels. Width and height are null if the header of the image has no size. */
  width: number | null
  height: number | null
}

/**
 * Returns the facts of a PNG, JPEG or WebP image of at most `maxBytes`, which is recognised by its first bytes. `name` is that of
 * the property, for errors. Throws Problem `invalid`.
 */
export const imageFacts = (name: string, image: Buffer, maxBytes: number): ImageFacts => {
  if (image.length > maxBytes) throw invalid(`${name} must have at most ${maxBytes / 1024} KB`)
  const start = image.subarray(0, 12).toString('hex')
  const [type] = types.find(([, matches]) => matches(start)) ?? []
  if (type === undefined) throw invalid(`${name} must be a PNG, JPEG or WebP image`)
  const { width = null, height = null } = imageSize(image, type) ?? {}
  return { type, hash: hash('sha256', image).slice(0, 12), width, height }
}

/** Width and height of an image in pixels. */
export interface ImageSize {
  width: number
  height: number
}

const ofPng = (image: Buffer): ImageSize => ({ width: image.readUInt32BE(16), height: image.readUInt32BE(20) })

const ofWebp = (image: Buffer): ImageSize => {
  const format = image.toString('latin1', 12, 16)
  if (format === 'VP8X') return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 }
  if (format === 'VP8L') {
    const bits = image.readUInt32LE(21)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff }
}

/** Segments of a JPEG that begin a frame, and have its size. 0xc4, 0xc8 and 0xcc are others. */
const beginsFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const ofJpeg = (image: Buffer): ImageSize => {
  let at = 2
  while (!beginsFrame(image[at + 1]!)) at += 2 + Math.max(2, image.readUInt16BE(at + 2))
  return { width: image.readUInt16BE(at + 7), height: image.readUInt16BE(at + 5) }
}

/** Returns the size of a PNG, JPEG or WebP image, or null if its header has none. */
export const imageSize = (image: Buffer, type: string): ImageSize | null => {
  try {
    const size = type === 'image/png' ? ofPng(image) : type === 'image/webp' ? ofWebp(image) : ofJpeg(image)
    return size.width > 0 && size.height > 0 ? size : null
  } catch {
    // The image ends before its size.
    return null
  }
}

import { hash } from 'node:crypto'
import type { ImageSize } from '../lib/image-size.ts'
import { type Html, html } from './html.ts'

/*
 * The picture of a webinar or a course: the image that was set for it, or else a drawing in the colour of the account, which
 * follows from its id and loads nothing.
 */

/** An image that was set. `path` begins at the public URL. */
interface CoverImage {
  path: string
  size: ImageSize | null
}

/** Added by pages that show `cover`: `PageView.style`. */
export const coverStyle = (id: string, image: CoverImage | null = null): string => {
  // Its size keeps the place while it loads.
  if (image)
    return `
.cover {
  display: block; width: 100%; height: auto; aspect-ratio: auto 2; max-height: 24rem; margin: 0 0 1.25rem;
  object-fit: cover; border-radius: .75rem
}
`
  const bytes = hash('sha256', id, 'buffer')
  const between = (n: number, from: number, to: number) => from + Math.round((bytes[n]! / 255) * (to - from))
  const disc = (n: number, mixed: string) => {
    const size = between(n, 18, 34)
    const at = `${between(n + 1, 0, 100)}% ${between(n + 2, 0, 100)}%`
    const color = `color-mix(in oklab, var(--act), ${mixed})`
    return `radial-gradient(circle at ${at}, ${color} ${size}%, transparent calc(${size}% + 1px))`
  }
  return `
.cover {
  height: 7.5rem; margin: 0 0 1.25rem; border-radius: .75rem;
  background: ${disc(0, '#fff 35%')}, ${disc(3, '#000 28%')}, ${disc(6, '#fff 14%')},
    linear-gradient(
      ${between(9, 0, 359)}deg, color-mix(in oklab, var(--act), #fff 22%), color-mix(in oklab, var(--act), #000 35%)
    )
}
`
}

/** Returns the picture. `base` is the path of the public URL. */
export const cover = (image: CoverImage | null = null, base = ''): Html => {
  if (!image) return html`<div class="cover" aria-hidden="true"></div>\n`
  const { path, size } = image
  return html`<img class="cover" src="${base}${path}" alt=""${
    size && html` width="${size.width}" height="${size.height}"`
  }>\n`
}

import { hash } from 'node:crypto'
import { type Html, html } from './html.ts'

/*
 * The picture of a webinar or a course, drawn in the colour of the account: each has its own, which follows from its id. It loads
 * nothing.
 */

/** Added by pages that show `cover`: `PageView.style`. */
export const coverStyle = (id: string): string => {
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

export const cover: Html = html`<div class="cover" aria-hidden="true"></div>\n`

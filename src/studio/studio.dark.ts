import { mixed, readableOn, textContrast, visibleOn } from '../lib/colors.ts'
import type { Block } from './studio.blocks.ts'
import type { FullTheme } from './studio.theme.ts'

/*
 * Dark mode for a theme that was designed for light mode: backgrounds become dark and keep their hue, text becomes light. Colours that
 * are already dark stay. Buttons stay, because they have a background of their own, except those in an outline.
 */

const isLight = (color: string): boolean => readableOn(color) === '#000000'

/** Returns the dark variant of a background: near black, with a tint of the colour. */
export const darkGround = (color: string): string => (isLight(color) ? mixed(color, [14, 18, 24], 0.05) : color)

const lightInk = (color: string): string => (isLight(color) ? color : mixed(color, [235, 239, 244], 0.1))

/** Returns the dark variant of a theme, or null if it is already dark. */
export const darkTheme = (theme: FullTheme): FullTheme | null =>
  isLight(theme.background) ? { ...theme, background: darkGround(theme.background), text: lightInk(theme.text) } : null

/** The class of a block that keeps its colours in dark mode: those of its author, on a light background. */
export const ownColors = 'own-colors'

/** The class of buttons in an outline, which take the colours of dark mode. */
export const outlined = 'outlined'

/** Returns the class of elements with this background. */
export const groundClass = (color: string): string => `on-${color.slice(1).toLowerCase()}`

/** Returns the backgrounds of all sections and columns. */
const groundsOf = (blocks: readonly Block[]): string[] =>
  blocks.flatMap((block) =>
    'children' in block
      ? [...(block.props.background ? [block.props.background] : []), ...groundsOf(block.children)]
      : [],
  )

/** Returns the dark-mode style of an email. It overrides the inline styles of MJML. */
export const darkStyle = (theme: FullTheme, blocks: readonly Block[]): string => {
  const dark = darkTheme(theme)
  if (!dark) return ''
  const rules = [...new Set(groundsOf(blocks))].map((color) => {
    const name = `.${groundClass(color)}`
    return `${name}, ${name} > table, ${name} > table > tbody > tr > td { background-color: ${darkGround(color)} !important }`
  })
  const ink = visibleOn([dark.background], theme.primary, textContrast)
  return `@media (prefers-color-scheme: dark) {
body, div[role='article'] { background-color: ${dark.background} !important }
.ink > div, .ink > table, .ink-link { color: ${dark.text} !important }
${rules.join('\n')}
.${outlined} td, .${outlined} a { background-color: transparent !important; border-color: ${ink} !important; color: ${ink} !important }
}`
}

import type { Theme } from './studio.blocks.ts'

/** Defaults for values that a theme leaves out. There is no default logo. */
export const themeDefaults = {
  primary: '#1d4ed8',
  background: '#ffffff',
  text: '#1f2937',
  font: 'Helvetica, Arial, sans-serif',
  width: 600,
} as const

/** A theme with all values except `logo`, which stays optional. */
export type FullTheme = { [Name in Exclude<keyof Theme, 'logo'>]-?: NonNullable<Theme[Name]> } & Pick<Theme, 'logo'>

/** Returns the theme with its defaults filled in. */
export const fullTheme = (theme: Theme): FullTheme => ({ ...themeDefaults, ...theme }) as FullTheme

/** Returns the fonts for use inside a double-quoted attribute. */
export const fontFamily = (font: string): string => font.replaceAll('"', "'")

const channels = (color: string): number[] => {
  const digits = color.slice(1)
  const pairs = digits.length === 3 ? [...digits].map((digit) => digit + digit) : digits.match(/../g)!
  return pairs.map((pair) => Number.parseInt(pair, 16) / 255)
}

/** Returns the relative luminance of WCAG 2, from 0 (black) to 1 (white). */
const luminance = (color: string): number => {
  const [red, green, blue] = channels(color).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

/** Returns black or white, whichever is more readable on the colour. */
export const readableOn = (color: string): string => (luminance(color) > 0.179 ? '#000000' : '#ffffff')

import type { Theme } from './studio.blocks.ts'

/** What a theme takes for what it leaves out; `logo` alone has none. */
export const themeDefaults = {
  primary: '#1d4ed8',
  background: '#ffffff',
  text: '#1f2937',
  font: 'Helvetica, Arial, sans-serif',
  width: 600,
} as const

/** A theme with nothing left out but, it may be, the logo. */
export type FullTheme = { [Name in Exclude<keyof Theme, 'logo'>]-?: NonNullable<Theme[Name]> } & Pick<Theme, 'logo'>

/** The theme with its defaults. */
export const fullTheme = (theme: Theme): FullTheme => ({ ...themeDefaults, ...theme }) as FullTheme

/** The fonts as they can stand in a quoted attribute. */
export const fontFamily = (font: string): string => font.replaceAll('"', "'")

const channels = (color: string): number[] => {
  const digits = color.slice(1)
  const pairs = digits.length === 3 ? [...digits].map((digit) => digit + digit) : digits.match(/../g)!
  return pairs.map((pair) => Number.parseInt(pair, 16) / 255)
}

/** Relative luminance as WCAG 2 has it, from 0 (black) to 1. */
const luminance = (color: string): number => {
  const [red, green, blue] = channels(color).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

/** Black or white, whichever is the easier to read on the colour. */
export const readableOn = (color: string): string => (luminance(color) > 0.179 ? '#000000' : '#ffffff')

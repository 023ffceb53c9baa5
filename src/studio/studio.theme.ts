import { palette } from '../lib/palette.ts'
import type { Theme } from './studio.blocks.ts'

/** Defaults for values that a theme leaves out. There is no default logo. */
const themeDefaults = {
  primary: palette.light.act,
  background: palette.light.card,
  text: palette.light.ink,
  font: 'Helvetica, Arial, sans-serif',
  width: 600,
} as const

/** A theme with all values except `logo`, which stays optional. */
export type FullTheme = { [Name in Exclude<keyof Theme, 'logo'>]-?: NonNullable<Theme[Name]> } & Pick<Theme, 'logo'>

/** Returns the theme with its defaults filled in. */
export const fullTheme = (theme: Theme): FullTheme => ({ ...themeDefaults, ...theme }) as FullTheme

/** Returns the fonts for use inside a double-quoted attribute. */
export const fontFamily = (font: string): string => font.replaceAll('"', "'")

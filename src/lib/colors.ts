/** Colours as `#1a2b3c` or `#abc`. */

type Channels = readonly [red: number, green: number, blue: number]

const channelsOf = (color: string): Channels => {
  const digits = color.slice(1)
  const pairs = digits.length === 3 ? [...digits].map((digit) => digit + digit) : digits.match(/../g)!
  return pairs.map((pair) => Number.parseInt(pair, 16)) as unknown as Channels
}

/** Returns the relative luminance of WCAG 2, from 0 (black) to 1 (white). */
const luminance = (color: string): number => {
  const [red, green, blue] = channelsOf(color)
    .map((channel) => channel / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

/** Returns black or white, whichever is more readable on the colour. */
export const readableOn = (color: string): string => (luminance(color) > 0.179 ? '#000000' : '#ffffff')

/** Returns the contrast of two colours by WCAG 2, from 1 to 21. */
export const contrastOf = (color: string, other: string): number => {
  const [lower, higher] = [luminance(color), luminance(other)].sort((a, b) => a - b)
  return (higher! + 0.05) / (lower! + 0.05)
}

/** Returns a colour that has `share` (0 to 1) of the first one, and the rest of the other. */
export const mixed = (color: string, other: Channels, share: number): string =>
  `#${channelsOf(color)
    .map((channel, i) =>
      Math.round(channel * share + other[i]! * (1 - share))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`

/** The least contrast of text that WCAG 2 allows (level AA). */
export const textContrast = 4.5
/** The least contrast of a button with what surrounds it. */
export const shapeContrast = 3

/** Returns the colour, darkened or lightened as far as it needs for that contrast with all of the grounds. */
export const visibleOn = (grounds: readonly string[], color: string, contrast: number): string => {
  const end = channelsOf(readableOn(grounds[0]!))
  for (let share = 10; share > 0; share--) {
    const candidate = mixed(color, end, share / 10)
    if (grounds.every((ground) => contrastOf(candidate, ground) >= contrast)) return candidate
  }
  return readableOn(grounds[0]!)
}

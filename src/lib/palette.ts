/** The colours of hosted pages, built-in emails and projects without others. An account's colour replaces `act` (pages/brand.ts). */
export const palette = {
  light: {
    ink: '#1b1f24',
    quiet: '#57606a',
    /** Around the content, and behind it. */
    ground: '#f6f7f9',
    card: '#ffffff',
    line: '#d0d7de',
    act: '#1f4fbf',
    onAct: '#ffffff',
  },
  dark: {
    ink: '#e6e9ed',
    quiet: '#a5adb8',
    ground: '#101418',
    card: '#1a2027',
    line: '#39424d',
    act: '#8fb4ff',
    onAct: '#0c1526',
  },
} as const

export type Scheme = keyof typeof palette

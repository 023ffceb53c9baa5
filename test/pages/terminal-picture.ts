import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { escapeHtml } from '../../src/lib/escape-html.ts'

/*
 * Pictures of a terminal as SVG, from what a command draws on a real one: tmux runs it, and returns its screen with the escape codes of
 * its colours.
 */

const run = promisify(execFile)
const [columnPx, rowPx, edgePx, barPx] = [8.4, 19, 18, 30]
const maxLooks = 200

const ground = '#12181f'
const ink = '#d8dee9'
const colours = ['#3b4252', '#ff8a80', '#5fd08b', '#ffd977', '#82aaff', '#d6a5ff', '#5ed3c4', ink]

interface Look {
  isInverse: boolean
  isBold: boolean
  isDim: boolean
  colour: string
}

const plain: Look = { isInverse: false, isBold: false, isDim: false, colour: ink }

/** Returns the look after the codes of one escape sequence. Others than these are not used here. */
const lookAfter = (look: Look, codes: readonly number[]): Look => {
  let now = look
  for (const code of codes) {
    const colour = colours[code >= 90 ? code - 90 : code - 30]
    if (code === 0) now = plain
    else if (code === 1) now = { ...now, isBold: true }
    else if (code === 2) now = { ...now, isDim: true }
    else if (code === 22) now = { ...now, isBold: false, isDim: false }
    else if (code === 7 || code === 27) now = { ...now, isInverse: code === 7 }
    else if (code === 39) now = { ...now, colour: ink }
    else if (colour) now = { ...now, colour }
  }
  return now
}

const runOf = (text: string, column: number, row: number, look: Look): string => {
  const [x, y, width] = [edgePx + column * columnPx, barPx + edgePx + row * rowPx, text.length * columnPx]
  const place = `x="${x.toFixed(1)}" y="${y}" textLength="${width.toFixed(1)}"`
  const weight = look.isBold ? ' font-weight="700"' : ''
  const dim = look.isDim ? ' opacity=".65"' : ''
  const fill = look.isInverse ? ground : look.colour
  return `<text ${place} fill="${fill}"${weight}${dim}>${escapeHtml(text)}</text>`
}

const boxOf = (columns: number, column: number, row: number, colour: string): string => {
  const [x, y, width] = [edgePx + column * columnPx, barPx + edgePx + row * rowPx - 14, columns * columnPx]
  return `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${rowPx}" fill="${colour}"/>`
}

/** Draws what has one look: each word group by itself, since SVG collapses spaces. */
const partOf = (text: string, column: number, row: number, look: Look): string[] => [
  ...(look.isInverse ? [boxOf(text.length, column, row, look.colour)] : []),
  ...Array.from(text.matchAll(/\S+(?: \S+)*/g), ({ 0: words, index }) => runOf(words, column + index, row, look)),
]

/** Returns the picture of a screen of tmux. */
export const svgOf = (screen: string, title: string, columns: number): string => {
  const rows = screen.trimEnd().split('\n')
  let look = plain
  const drawn = rows.flatMap((line, row) => {
    let column = 0
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes begin with one
    return line.split(/(\x1b\[[\d;]*m)/).flatMap((part) => {
      if (part.startsWith('\x1b')) {
        look = lookAfter(look, part.slice(2, -1).split(';').map(Number))
        return []
      }
      const from = column
      column += part.length
      return partOf(part, from, row, look)
    })
  })
  const [width, height] = [Math.ceil(columns * columnPx + 2 * edgePx), barPx + edgePx + rows.length * rowPx]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escapeHtml(title)}</title>
<rect width="100%" height="100%" rx="10" fill="${ground}"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/><circle cx="60" cy="18" r="6" fill="#28c840"/>
<text x="${width / 2}" y="22" fill="#9ba7b9" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">${escapeHtml(title)}</text>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
${drawn.join('\n')}
</g>
</svg>
`
}

export interface Drawing {
  command: string
  title: string
  /** Keys to press once the command has drawn, as tmux names them. */
  keys?: readonly string[]
  /** What the screen shows at the end. */
  shows: RegExp
  columns: number
  rows: number
}

/** Runs a command in a terminal until its screen shows the expected text and no longer changes; writes its picture to a file. */
export const pictureTerminal = async (path: string, folder: string, drawing: Drawing, env: NodeJS.ProcessEnv) => {
  const { command, title, keys = [], shows, columns, rows } = drawing
  const given = { ...env, TMUX_TMPDIR: folder, SHELL: '/bin/sh', LANG: 'C.UTF-8' }
  const tmux = async (...args: string[]) =>
    (await run('tmux', ['-L', 'picture', '-f', '/dev/null', ...args], { env: given })).stdout
  const settled = async () => {
    let last = ''
    for (let looks = 0; looks < maxLooks; looks++) {
      const screen = await tmux('capture-pane', '-e', '-p')
      if (screen === last && shows.test(screen)) return screen
      last = screen
      await sleep(200)
    }
    throw new Error(`The terminal never showed ${shows}:\n${last}`)
  }
  await tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), command)
  try {
    await settled()
    for (const key of keys) await tmux('send-keys', key)
    await writeFile(path, svgOf(await settled(), title, columns))
  } finally {
    await tmux('kill-server')
    await rm(join(folder, `tmux-${process.getuid?.()}`), { recursive: true, force: true })
  }
}

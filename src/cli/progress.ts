import { quantity } from '../lib/quantity.ts'
import { isAsciiOnly, meter, span } from './draw/draw.ts'

/** How far long work has come. `fraction` is the completed part, 0 to 1; null if the total is unknown. */
interface Position {
  rows: number
  fraction: number | null
}

export interface Progress {
  update(position: Position): void
  /** Removes the bar, so that the next output begins on an empty line. */
  stop(): void
}

export const noProgress: Progress = { update() {}, stop() {} }

interface Screen {
  write(text: string): boolean
  isTTY?: boolean
}

const barWidth = 24
/** A terminal is redrawn ten times a second; a log gets a line every 5 s. */
const drawEveryMs = 100
const lineEveryMs = 5000

/** Shows the progress of long work, its rate and the remaining time: a bar on a terminal, otherwise lines. `one` is one row of it. */
export const createProgress = (
  screen: Screen,
  one: string,
  clock: () => number = () => performance.now(),
  isAscii = isAsciiOnly(process.env),
): Progress => {
  const startedAt = clock()
  let first: Position | null = null
  let shownAt = screen.isTTY ? 0 : startedAt
  let isDrawn = false
  const describe = ({ rows, fraction }: Position, now: number): string => {
    const seconds = (now - startedAt) / 1000
    const rate = Math.round((rows - (first?.rows ?? 0)) / seconds)
    const parts = [quantity(rows, one), `${quantity(rate, one)}/s`]
    if (fraction !== null) {
      const gone = fraction - (first?.fraction ?? 0)
      const share = `${Math.floor(fraction * 100)} %`
      parts.unshift(screen.isTTY ? `${meter(fraction, barWidth, isAscii)} ${share}` : share)
      if (gone > 0) parts.push(`${span(Math.ceil((seconds / gone) * (1 - fraction)) * 1000)} left`)
    }
    return parts.join(', ')
  }
  return {
    update(position) {
      const now = clock()
      first ??= position
      if (now - shownAt < (screen.isTTY ? drawEveryMs : lineEveryMs)) return
      shownAt = now
      const text = describe(position, now)
      isDrawn = Boolean(screen.isTTY)
      screen.write(screen.isTTY ? `\r\u001b[K${text}` : `${text}\n`)
    },
    stop() {
      if (isDrawn) screen.write('\r\u001b[K')
      isDrawn = false
    },
  }
}

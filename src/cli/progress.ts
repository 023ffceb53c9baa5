/** Where a long work stands. `fraction` is of the whole, 0 to 1; null where nobody knows how much there is. */
export interface Standing {
  rows: number
  fraction: number | null
}

export interface Progress {
  update(standing: Standing): void
  /** Ends the bar, so that what is written next has a line of its own. */
  stop(): void
}

export const noProgress: Progress = { update() {}, stop() {} }

interface Screen {
  write(text: string): boolean
  isTTY?: boolean
}

const barWidth = 24
/** A terminal is drawn ten times a second; a log gets a line every few. */
const drawEveryMs = 100
const lineEveryMs = 5000

const duration = (seconds: number): string => {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`
}

const count = (value: number): string => Math.round(value).toLocaleString('en')

/** Shows how far a long work is, with its rate and the time that is left, on stderr: a bar on a terminal, else lines. */
export const createProgress = (
  screen: Screen,
  noun: string,
  clock: () => number = () => performance.now(),
): Progress => {
  const startedAt = clock()
  let first: Standing | null = null
  let shownAt = screen.isTTY ? 0 : startedAt
  let isDrawn = false
  const describe = ({ rows, fraction }: Standing, now: number): string => {
    const seconds = (now - startedAt) / 1000
    const parts = [`${count(rows)} ${noun}`, `${count((rows - (first?.rows ?? 0)) / seconds)} ${noun}/s`]
    if (fraction !== null) {
      const gone = fraction - (first?.fraction ?? 0)
      const share = `${Math.floor(fraction * 100)} %`
      parts.unshift(screen.isTTY ? `${'█'.repeat(fraction * barWidth).padEnd(barWidth, '░')} ${share}` : share)
      if (gone > 0) parts.push(`${duration((seconds / gone) * (1 - fraction))} left`)
    }
    return parts.join(', ')
  }
  return {
    update(standing) {
      const now = clock()
      first ??= standing
      if (now - shownAt < (screen.isTTY ? drawEveryMs : lineEveryMs)) return
      shownAt = now
      const text = describe(standing, now)
      isDrawn = Boolean(screen.isTTY)
      screen.write(screen.isTTY ? `\r\u001b[K${text}` : `${text}\n`)
    },
    stop() {
      if (isDrawn) screen.write('\r\u001b[K')
      isDrawn = false
    },
  }
}

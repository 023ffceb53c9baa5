import { emitKeypressEvents } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from './command.ts'
import { fitted } from './draw/draw.ts'

/*
 * Full-screen views. They use the alternate screen, so that the terminal's content returns when they close, whatever ends
 * them: the end, an error, a signal, `process.exit`.
 */

const [enter, leave] = ['\u001b[?1049h\u001b[?25l\u001b[?7l', '\u001b[?7h\u001b[?25h\u001b[?1049l']
const [least, leastRows] = [40, 10]

export interface Screen {
  /** Returns the current size of the terminal, in cells and lines. */
  room(): { columns: number; rows: number }
  /** Draws lines from the top. They must not be wider than the terminal; lines below its end are dropped. */
  draw(lines: readonly string[]): void
  /** Returns the next key by its name (`up`, `return`, `q`); null after `waitMs`, or when the terminal was resized. */
  key(waitMs: number): Promise<string | null>
}

/** Whether the terminal can show a full-screen view: it can move the cursor and has the minimum size. */
export const hasScreen = (): boolean => {
  const { stdin, stdout } = process
  const { columns = 0, rows = 0 } = stdout
  const isTerminal = stdin.isTTY && stdout.isTTY && !process.env.CI && process.env.TERM !== 'dumb'
  return isTerminal && columns >= least && rows >= leastRows
}

/** Returns text in reverse video, which needs no colour. */
export const reversed = (text: string): string => `\u001b[7m${text}\u001b[27m`

/** Queues typed keys until they are read. */
const createKeys = () => {
  const typed: string[] = []
  let wake = () => {}
  return {
    add(name: string) {
      typed.push(name)
      wake()
    },
    wake: () => wake(),
    next: (waitMs: number): Promise<string | null> =>
      new Promise((resolve) => {
        const answer = () => {
          clearTimeout(timer)
          wake = () => {}
          resolve(typed.shift() ?? null)
        }
        const timer = setTimeout(answer, typed.length > 0 ? 0 : waitMs)
        wake = answer
      }),
  }
}

/** Shows a full-screen view while `run` runs. `run` must end soon after `signal` aborts. */
export const onScreen = async (signal: AbortSignal, run: (screen: Screen) => Promise<void>): Promise<void> => {
  const { stdin, stdout } = process
  const keys = createKeys()
  const onKey = (text: string | undefined, { name, ctrl }: { name?: string; ctrl?: boolean }) => {
    // In raw mode Ctrl-C arrives as a key.
    if (ctrl && name === 'c') process.kill(process.pid, 'SIGINT')
    else keys.add(name ?? text ?? '')
  }
  let isOpen = true
  const restore = () => {
    if (!isOpen) return
    isOpen = false
    stdout.write(leave)
    if (stdin.isTTY) stdin.setRawMode(false)
  }
  process.once('exit', restore)
  stdout.write(enter)
  stdin.setRawMode(true)
  emitKeypressEvents(stdin)
  stdin.on('keypress', onKey).resume()
  stdout.on('resize', keys.wake)
  signal.addEventListener('abort', keys.wake)
  try {
    await run({
      room: () => ({ columns: stdout.columns, rows: stdout.rows }),
      draw: (lines) => {
        // Each line is erased before it is written: behind a line of the full width, the cursor is still on its last cell.
        const shown = lines.slice(0, stdout.rows).map((line) => `\u001b[K${line}`)
        const rest = shown.length < stdout.rows ? '\r\n\u001b[J' : ''
        if (isOpen) stdout.write(`\u001b[H${shown.join('\r\n')}${rest}`)
      },
      key: keys.next,
    })
  } finally {
    stdin.off('keypress', onKey).pause()
    stdout.off('resize', keys.wake)
    signal.removeEventListener('abort', keys.wake)
    process.off('exit', restore)
    restore()
  }
}

const unavailableText = 'The database is not available'
/** A database that has not answered for this long is not available. */
const silentMs = 10_000
/** During a read that takes longer, keys are handled. */
const briefMs = 200

/**
 * Draws what `read` returns until `q`, and reads it again every `everyMs`; more lines than the screen has scroll. `read` returns a
 * function that draws lines for the current size.
 */
export const watchIn = async (
  screen: Screen,
  signal: AbortSignal,
  everyMs: number,
  read: () => Promise<(room: ReturnType<Screen['room']>) => string[]>,
): Promise<void> => {
  const { isUnavailable } = await import('../store/database.ts')
  let [from, readAt, remark] = [0, Number.NEGATIVE_INFINITY, '']
  let reading: Promise<void> | null = null
  let failure: unknown = null
  let draw: Awaited<ReturnType<typeof read>> = () => []
  const readOnce = async () => {
    try {
      draw = await read()
      remark = ''
    } catch (error) {
      if (!isUnavailable(error)) failure = error
      remark = `${unavailableText} · `
    }
    reading = null
  }
  while (!signal.aborted) {
    if (!reading && performance.now() - readAt >= everyMs) {
      readAt = performance.now()
      reading = readOnce()
      await Promise.race([reading, sleep(briefMs, undefined, { signal }).catch(() => {})])
    }
    if (failure) throw failure
    if (reading && performance.now() - readAt > silentMs) remark = `${unavailableText} · `
    const { columns, rows } = screen.room()
    const lines = draw({ columns, rows })
    from = Math.max(0, Math.min(from, lines.length - (rows - 2)))
    const room = lines.slice(from, from + rows - 2)
    const empty = Array.from({ length: rows - 1 - room.length }, () => '')
    const hidden = lines.length > rows - 2 ? '↑↓ scroll · ' : ''
    const footer = `${remark}${hidden}every ${everyMs / 1000} s · q quit`
    screen.draw([...room, ...empty, fitted(footer, columns).trimEnd()])
    const key = await screen.key(reading ? briefMs : Math.max(0, readAt + everyMs - performance.now()))
    if (key === 'q') return
    from += { up: -1, down: 1, pageup: 2 - rows, pagedown: rows - 2 }[key ?? ''] ?? 0
  }
}

/** Runs `watchIn` on the full screen. */
export const watchOnScreen = (
  signal: AbortSignal,
  ...watched: [everyMs: number, read: Parameters<typeof watchIn>[3]]
) => onScreen(signal, (screen) => watchIn(screen, signal, ...watched))

/** Calls `print` every `everyMs` until the user interrupts it: `--watch` without a full-screen view. */
export const repeated = async (
  { out, signal }: Context,
  everyMs: number,
  print: () => Promise<void>,
): Promise<void> => {
  const { isUnavailable } = await import('../store/database.ts')
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  while (!signal.aborted) {
    const printed = print().catch((error) => {
      if (!isUnavailable(error)) throw error
      out.note(unavailableText)
    })
    await Promise.race([printed, stopped])
    await sleep(everyMs, undefined, { signal }).catch(() => {})
  }
}

import { spawn } from 'node:child_process'

interface Screen {
  /** Lines of the terminal. */
  rows: number
  columns: number
  /** `PAGER` names the program that shows texts longer than the screen. */
  env: Record<string, string | undefined>
  stdout: NodeJS.WritableStream
}

/** Returns the number of screen lines that a text takes; long lines wrap. */
const heightOf = (text: string, columns: number): number =>
  text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / columns)), -1)

const ignore = () => {}

/**
 * Shows a text on the terminal as git does: a text longer than the screen goes to `$PAGER`, or to less. Quitting the
 * pager early is not an error. While it runs, only the pager handles Ctrl-C.
 */
export const pager =
  ({ rows, columns, env, stdout }: Screen) =>
  async (text: string): Promise<void> => {
    const command = env.PAGER ?? 'less'
    if (command === '' || command === 'cat' || heightOf(text, columns) < rows) return void stdout.write(text)
    const interrupts = process.listeners('SIGINT')
    process.removeAllListeners('SIGINT').on('SIGINT', ignore)
    const status = await new Promise<number | null>((resolve) => {
      const child = spawn(command, {
        shell: true,
        stdio: ['pipe', 'inherit', 'inherit'],
        env: { LESS: 'FRX', LV: '-c', ...env },
      })
      child.once('error', () => resolve(null)).once('close', resolve)
      child.stdin.on('error', ignore).end(text)
    })
    process.off('SIGINT', ignore)
    for (const interrupt of interrupts) process.on('SIGINT', interrupt)
    // The shell exits with 127 if there is no such program.
    if (status === null || status === 127) stdout.write(text)
  }

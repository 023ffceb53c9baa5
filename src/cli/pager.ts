import { spawn } from 'node:child_process'

export interface Screen {
  /** Lines of the terminal. */
  rows: number
  columns: number
  /** What is too long for the screen is given to its `PAGER`. */
  env: Record<string, string | undefined>
  stdout: NodeJS.WritableStream
}

/** The lines that a text takes on the screen, those that wrap counted as often. */
const heightOf = (text: string, columns: number): number =>
  text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / columns)), -1)

const ignore = () => {}

/**
 * Shows a text on the terminal, as git does: by `$PAGER` (else less) where it is longer than the screen. Who quits it early
 * has seen enough; Ctrl-C is for the pager alone while it runs.
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
    // No such program: 127 is how a shell says so.
    if (status === null || status === 127) stdout.write(text)
  }

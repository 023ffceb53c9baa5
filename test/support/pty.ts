import { spawn, spawnSync } from 'node:child_process'
import { inherited, program } from './cli.ts'
import { needs } from './needs.ts'

/** Options of tests on a terminal, which `script` of util-linux opens. */
export const needsTerminal = needs('script', spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0)

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The expected output, and the keys to type then. */
export type Step = readonly [seen: string | RegExp, typed: string]

export interface OnTerminal {
  status: number | null
  /** The complete output. */
  text: string
}

/**
 * Runs the real CLI on a terminal. Each step types its keys once its expected text appears after the previous step. Resolves
 * with the exit status and the complete output.
 */
export const dialogue = (
  target: { env: Record<string, string> },
  args: readonly string[],
  steps: readonly Step[],
  { columns = 200, rows = 24 } = {},
): Promise<OnTerminal> =>
  new Promise((resolve, reject) => {
    const command = [process.execPath, program, ...args].map(quoted).join(' ')
    const env = { ...inherited(), TERM: 'xterm', ...target.env }
    const size = `stty cols ${columns} rows ${rows}`
    const child = spawn('script', ['-qec', `${size}; ${command}`, '/dev/null'], { env })
    const left = [...steps]
    let text = ''
    let from = 0
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      const [next] = left
      if (!next) return
      const since = text.slice(from)
      if (!(typeof next[0] === 'string' ? since.includes(next[0]) : next[0].test(since))) return
      left.shift()
      from = text.length
      child.stdin.write(next[1])
    })
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, text }))
  })

/** Runs the real CLI on a terminal, and answers its first question whether to continue. */
export const svcOnTerminal = (
  target: { env: Record<string, string> },
  args: readonly string[],
  answer: string,
): Promise<OnTerminal> => dialogue(target, args, [[/Go on\?/, answer]])

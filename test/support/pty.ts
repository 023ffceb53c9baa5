import { spawnSync } from 'node:child_process'
import { spawnInTest } from './children.ts'
import { inherited, program, type Step } from './cli.ts'
import { needs } from './needs.ts'

/** Options of tests on a terminal, which `script` of util-linux opens. */
export const needsTerminal = needs('script', spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0)

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

interface Options {
  columns?: number
  rows?: number
  env?: Record<string, string>
  /** Commands of the shell that run on the same terminal. */
  before?: string
  after?: string
}

/**
 * Runs the real CLI on a real terminal: for what the terminal itself does. Everything else runs by `svc` with `tty`. Each step types
 * its keys once its expected text appears after the previous step. Resolves with the exit status and the complete output.
 */
export const dialogue = (
  target: { env: Record<string, string> },
  args: readonly string[],
  steps: readonly Step[],
  { columns = 200, rows = 24, env = {}, before = 'true', after = 'true' }: Options = {},
): Promise<{ status: number | null; text: string }> =>
  new Promise((resolve, reject) => {
    const command = [process.execPath, program, ...args].map(quoted).join(' ')
    const script = `stty cols ${columns} rows ${rows}; ${before}; ${command}; status=$?; ${after}; exit $status`
    const child = spawnInTest('script', ['-qec', script, '/dev/null'], {
      env: { ...inherited(), TERM: 'xterm', ...target.env, ...env },
    })
    const left = [...steps]
    let text = ''
    let from = 0
    let answered = Promise.resolve()
    const answer = async () => {
      const [next] = left
      if (!next) return
      const [seen, typed] = next
      const since = text.slice(from)
      if (!(typeof seen === 'string' ? since.includes(seen) : seen.test(since))) return
      left.shift()
      from = text.length
      child.stdin.write(typeof typed === 'string' ? typed : await typed())
    }
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      answered = answered.then(answer)
      answered.catch(reject)
    })
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, text }))
  })

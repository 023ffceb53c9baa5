import { spawn } from 'node:child_process'
import { join } from 'node:path'

export interface Ran {
  status: number | null
  stdout: string
  stderr: string
  /** stdout as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of an answer
  json: any
}

export const program = join(import.meta.dirname, '../../bin/svc.ts')

interface Options {
  stdin?: string | Buffer
  env?: Record<string, string>
  cwd?: string
}

/** Starts the real CLI as a process of its own, with the environment of `target` and nothing of ours. */
export const startSvc = (
  target: { env: Record<string, string> },
  args: readonly string[],
  { env = {}, cwd }: Options = {},
) =>
  spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...target.env, ...env },
    ...(cwd && { cwd }),
  })

/** Runs the real CLI to its end, with pipes for stdin, stdout and stderr. */
export const svc = (
  target: { env: Record<string, string> },
  args: readonly string[],
  options: Options = {},
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = startSvc(target, args, options)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (status) => {
      const ran = { status, stdout, stderr }
      resolve(Object.defineProperty(ran, 'json', { get: () => JSON.parse(stdout) }) as Ran)
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.stdin ?? '')
  })

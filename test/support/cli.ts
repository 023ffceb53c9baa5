import { type ChildProcess, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Asked } from './cli.host.ts'

export interface Ran {
  status: number | null
  stdout: string
  stderr: string
  /** stdout parsed as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: the expectations check the properties of an answer
  json: any
}

export const program = join(import.meta.dirname, '../../bin/svc.ts')

interface Options {
  stdin?: string | Buffer
  env?: Record<string, string>
  cwd?: string
  /** The command that runs the program. */
  command?: readonly string[]
  as?: { uid: number; gid: number }
}

/** The part of this process's environment that every `svc` gets. */
export const inherited = (): Record<string, string> => {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE, NODE_PRESERVE_SYMLINKS } = process.env
  return {
    PATH,
    HOME,
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    ...(NODE_PRESERVE_SYMLINKS && { NODE_PRESERVE_SYMLINKS }),
  }
}

/** Starts the real CLI as a separate process, with only the environment of `target`. */
export const startSvc = (
  target: { env: Record<string, string> },
  args: readonly string[],
  { env = {}, cwd, command: [runner = process.execPath, ...flags] = [], as }: Options = {},
) =>
  spawn(runner, [...flags, program, ...args], {
    ...as,
    env: { ...inherited(), ...target.env, ...env },
    ...(cwd && { cwd }),
  })

/** Runs the real CLI to its end as a separate process, with pipes for stdin, stdout and stderr. */
export const svcProcess = (
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
      resolve(withJson({ status, stdout, stderr }))
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.stdin ?? '')
  })

const withJson = (ran: Omit<Ran, 'json'>): Ran =>
  Object.defineProperty(ran, 'json', { get: () => JSON.parse(ran.stdout) }) as Ran

const host = join(import.meta.dirname, 'cli.host.ts')
const idle: ChildProcess[] = []

const openHost = (): ChildProcess => {
  const child = fork(host, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.unref()
  child.channel?.unref()
  return child
}

/**
 * Runs the CLI to its end with the input and output of a separate process, but in a process that has already loaded its
 * modules: a new process for each command would cost the suite ten minutes.
 */
export const svc = async (
  target: { env: Record<string, string> },
  args: readonly string[],
  { env = {}, cwd = process.cwd(), stdin = '' }: Options = {},
): Promise<Ran> => {
  const child = idle.pop() ?? openHost()
  child.channel?.ref()
  const ran = await new Promise<Omit<Ran, 'json'>>((resolve, reject) => {
    const fail = () => reject(new Error(`svc ${args.join(' ')} ended its host`))
    child.once('exit', fail)
    child.once('message', (message) => {
      child.off('exit', fail)
      resolve(message as Omit<Ran, 'json'>)
    })
    const asked: Asked = {
      args,
      cwd,
      env: { ...inherited(), ...target.env, ...env },
      stdin: Buffer.from(stdin).toString('base64'),
    }
    child.send(asked)
  })
  child.channel?.unref()
  idle.push(child)
  return withJson(ran)
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { afterAll, beforeAll } from 'vitest'
import { spawnInTest } from './children.ts'
import type { Command, Report, Request, Size } from './cli.host.ts'
import { atEnd, inTest } from './scope.ts'

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

/** Starts the real CLI as a separate process that ends with the test, with only the environment of `target`. */
export const startSvc = (
  target: { env: Record<string, string> },
  args: readonly string[],
  { env = {}, cwd, command: [runner = process.execPath, ...flags] = [], as }: Options = {},
) =>
  spawnInTest(runner, [...flags, program, ...args], {
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
  inTest(
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
    }),
  )

const withJson = <T extends Omit<Ran, 'json'>>(ran: T): T & Pick<Ran, 'json'> =>
  Object.defineProperty(ran, 'json', {
    get: () => {
      if (ran.stdout === '') throw new Error(`There is no output. Exit status ${ran.status}: ${ran.stderr}`)
      return JSON.parse(ran.stdout)
    },
  }) as T & Pick<Ran, 'json'>

/** What a command without a terminal says of its progress: on a slow machine a migration takes longer than 5 s. */
export const progressLines = /^(?:(?:\d+ %|[\d,]+ rows?), [^\n]*\n)*$/

const host = join(import.meta.dirname, 'cli.host.ts')
const idle: ChildProcess[] = []
/** Receive the next host that becomes idle. */
const waiting: ((child: ChildProcess) => void)[] = []
let hosts = 0

const openHost = (): ChildProcess => {
  const child = fork(host, { execArgv: [], serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  hosts += 1
  child.once('exit', () => (hosts -= 1))
  child.unref()
  child.channel?.unref()
  return child
}

/** Starting a host takes a second of CPU time. While two hosts are busy, a command waits this long before it starts another one. */
const patienceMs = 1_000

const takeHost = async (): Promise<ChildProcess> => {
  const child = idle.pop()
  if (child || hosts < 2) return child ?? openHost()
  const { promise, resolve } = Promise.withResolvers<ChildProcess>()
  waiting.push(resolve)
  // Some commands run until their test ends them.
  const timer = setTimeout(() => {
    waiting.splice(waiting.indexOf(resolve), 1)
    resolve(openHost())
  }, patienceMs)
  return promise.finally(() => clearTimeout(timer))
}

const releaseHost = (child: ChildProcess): void => {
  const take = waiting.shift()
  if (take) take(child)
  else idle.push(child)
}

let keepsApp = false

const closeApp = async (child: ChildProcess): Promise<void> => {
  child.channel?.ref()
  child.send({ closesApp: true } satisfies Request)
  await Promise.race([once(child, 'message'), once(child, 'exit')])
  child.channel?.unref()
}

/**
 * Has the app that `svc` opens for a command of this file kept open for the next one with the same settings: for files with many
 * commands about what they do and print, not about how they begin. Opening an app takes two thirds of a command's CPU time.
 */
export const useOneApp = (): void => {
  beforeAll(() => {
    keepsApp = true
  })
  afterAll(async () => {
    keepsApp = false
    await Promise.all(idle.map(closeApp))
  })
}

/** The expected output, and the keys to type then. A function is called then, and returns the keys. */
export type Step = readonly [seen: string | RegExp, typed: string | (() => string | Promise<string>)]

interface HostedOptions extends Omit<Options, 'command' | 'as'> {
  /** Input, output and errors are a terminal of that size. */
  tty?: Partial<Size>
  /** Each step types its keys once its expected text appears after the previous step. */
  steps?: readonly Step[]
  /** Answers yes if the command asks whether to go on. */
  saysYes?: boolean
}

interface OnTerminal extends Ran {
  /** What a terminal shows: output, errors and typed text in their order. */
  text: string
}

/**
 * Runs the CLI to its end with the input and output of a separate process, but in a process that has already loaded its modules:
 * this takes 8 ms of CPU time, like a call in the test's own process, and a new process takes 180. In the test's own process
 * commands could only run one at a time, because its environment, folder, streams and exit status are global.
 */
export const svc = async (
  target: { env: Record<string, string> },
  args: readonly string[],
  { env = {}, cwd = process.cwd(), stdin = '', tty, steps = [], saysYes }: HostedOptions = {},
): Promise<OnTerminal> => {
  const child = await takeHost()
  const send = (request: Request) => child.send(request)
  const parts: Record<'stdout' | 'stderr' | 'echo', Buffer[]> = { stdout: [], stderr: [], echo: [] }
  const decoder = new StringDecoder()
  const left = [...steps]
  let text = ''
  let from = 0
  let isAsked = false
  const answer = async () => {
    if (saysYes && !isAsked && text.includes('Go on?')) {
      isAsked = true
      send({ type: 'y\r' })
    }
    const [next] = left
    if (!next) return
    const [seen, typed] = next
    const since = text.slice(from)
    if (!(typeof seen === 'string' ? since.includes(seen) : seen.test(since))) return
    left.shift()
    from = text.length
    send({ type: typeof typed === 'string' ? typed : await typed() })
  }
  child.channel?.ref()
  const running = new Promise<Extract<Report, { status: number }>>((resolve, reject) => {
    let answered = Promise.resolve()
    const fail = () => reject(new Error(`svc ${args.join(' ')} ended its host:\n${text}`))
    const receive = (message: Report) => {
      if ('status' in message) {
        child.off('exit', fail).off('message', receive)
        return resolve(message)
      }
      if ('closedApp' in message) return
      parts[message.from].push(message.chunk)
      text += decoder.write(message.chunk)
      answered = answered.then(answer)
      answered.catch(reject)
    }
    child.on('exit', fail).on('message', receive)
    const command: Command = {
      args,
      cwd,
      // The pager would write to the terminal of the test run.
      env: { ...inherited(), ...(tty && { TERM: 'xterm', PAGER: 'cat' }), ...target.env, ...env },
      stdin,
      tty: tty ? { columns: 200, rows: 24, ...tty } : null,
      keepsApp,
    }
    send({ run: command })
  })
  let isRunning = true
  // A command that outlives its test ends with its host.
  atEnd(() => isRunning && child.kill('SIGKILL'))
  const { status, endsHost } = await inTest(running)
  isRunning = false
  child.channel?.unref()
  if (!endsHost) releaseHost(child)
  if (left.length > 0) throw new Error(`svc ${args.join(' ')} did not show ${left[0]![0]}:\n${text}`)
  const [stdout, stderr] = [Buffer.concat(parts.stdout).toString(), Buffer.concat(parts.stderr).toString()]
  return withJson({ status, stdout, stderr, text })
}

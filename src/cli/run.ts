import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { Problem, type ProblemKind } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import type { Context, RunOptions } from './command.ts'
import { type Interruption, watchInterruption } from './interruption.ts'
import { createOutput, type Format, json, type Output, printable } from './output.ts'

/** Exit statuses of cli.md, Conventions. */
const statuses: Record<ProblemKind, number> = {
  invalid: 2,
  usage: 2,
  missing: 3,
  configuration: 4,
  forbidden: 6,
  conflict: 6,
  limited: 6,
  unauthorized: 1,
  unavailable: 7,
  upstream: 7,
}

export interface GlobalOptions {
  json?: boolean
  jsonl?: boolean
  quiet?: boolean
  account?: string
}

export type Open = () => Promise<App>

const isPerson = (): boolean => Boolean(process.stdin.isTTY && process.stdout.isTTY && !process.env.CI)

const formatOf = (options: GlobalOptions): Format => {
  if (options.json) return 'json'
  if (options.jsonl) return 'jsonl'
  if (options.quiet) return 'ids'
  return process.stdout.isTTY ? 'table' : 'plain'
}

const isDatabaseAway = async (error: unknown): Promise<boolean> =>
  (await import('../store/database.ts')).isUnavailable(error)

/** Prints a failure on stderr and gives its exit status. A fault of ours is one line too, with the stack on demand. */
export const reportFailure = async (error: unknown, asJson: boolean): Promise<number> => {
  // Ctrl-C at a question.
  if ((error as Error)?.name === 'ExitPromptError') return 130
  let problem: Problem
  if (error instanceof Problem) problem = error
  else if (await isDatabaseAway(error))
    problem = new Problem('unavailable', 'The database is not available', { hint: 'svc db status' })
  else
    problem = Object.assign(new Problem('unauthorized', `Something went wrong: ${(error as Error)?.message ?? error}`))
  const { hint } = problem.detail
  if (asJson) process.stderr.write(`${json({ error: problem.message, ...(hint && { hint }) })}\n`)
  else process.stderr.write(`error: ${printable(problem.message)}\n${hint ? `  next: ${printable(hint)}\n` : ''}`)
  if (process.env.SVC_LOG_LEVEL === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return statuses[problem.kind]
}

/** Who works at the terminal. A user id without a name, as containers have it, is one too. */
const operator = (): string => {
  if (process.env.SVC_USER) return process.env.SVC_USER
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.()}`
  }
}

interface Run {
  context: Context
  /** Whether the command looks for the signal itself. */
  heeds(): boolean
}

/** The context of one run of one command. */
const createContext = (
  options: GlobalOptions,
  out: Output,
  app: App | null,
  { signal }: Interruption,
  exit: (status: number) => void,
): Run => {
  const actor = `cli:${operator()}`
  let heeds = false
  let account: Promise<{ id: string; name: string }> | undefined
  const context: Context = {
    get app() {
      if (!app) throw new Error('This command runs without the app')
      return app
    },
    out,
    actor,
    get signal() {
      heeds = true
      return signal
    },
    exit,
    account: () => {
      account ??= import('../accounts/accounts.ts').then(({ chooseAccount }) =>
        context.operate((operation) => chooseAccount(operation, options.account ?? process.env.SVC_ACCOUNT)),
      )
      return account
    },
    work: async (run) => context.app.work((await context.account()).id, actor, run),
    operate: (run) => context.app.operate(actor, run),
    confirm: async (what, { yes, dryRun }) => {
      if (dryRun) {
        out.note(`Would ${what}. Nothing was changed.`)
        return false
      }
      if (yes) return true
      if (!isPerson()) throw new Problem('usage', `This would ${what}: it needs --yes`)
      const { confirm } = await import('@inquirer/prompts')
      return confirm({ message: `This will ${what}. Go on?`, default: false })
    },
    require: async (flags) => {
      const lacking = Object.keys(flags).filter((name) => flags[name] === undefined)
      if (lacking.length > 0 && !isPerson()) {
        throw new Problem('usage', `Missing ${lacking.map((name) => `--${name}`).join(', ')}`)
      }
      const answers: Record<string, string | undefined> = { ...flags }
      if (lacking.length > 0) {
        const { input } = await import('@inquirer/prompts')
        for (const name of lacking) answers[name] = await input({ message: `${name}:`, required: true })
      }
      return answers as never
    },
  }
  return { context, heeds: () => heeds }
}

/** Makes an action of a function: opens the app, runs it, closes, and turns what it throws into an exit status. */
export const runner =
  (open: Open) =>
  <Args extends unknown[]>(act: (context: Context, ...args: Args) => Promise<void>, run: RunOptions = {}) =>
  async (...args: Args): Promise<void> => {
    const command = args.at(-1) as Command
    const options = command.optsWithGlobals<GlobalOptions>()
    const out = createOutput(formatOf(options), process.stdout, process.stderr, Boolean(process.stdout.isTTY))
    let app: App | null = null
    let status: number | null = null
    const interruption = watchInterruption(() => status)
    try {
      if (run.app !== 'none') app = await open()
      if (!interruption.signal.aborted) {
        const { context, heeds } = createContext(options, out, app, interruption, (code) => {
          status = code
        })
        // What a command opened for itself it has to close itself.
        await Promise.race([act(context, ...args), interruption.unheeded(() => run.app === 'none' || heeds())])
      }
      status ??= interruption.status ?? 0
    } catch (error) {
      // Cut short is what it was to be: no failure to tell of.
      const isCut = interruption.fault !== null || (interruption.status !== null && isOfCutting(error))
      const failure = isCut ? 0 : await reportFailure(error, out.format === 'json' || out.format === 'jsonl')
      status = interruption.status ?? failure
    } finally {
      await app?.close().catch(() => {})
    }
    if (interruption.fault) status = await reportFailure(interruption.fault, out.format === 'json')
    process.exitCode = status
    // What was cut off may still wait for something; nothing of ours is left.
    if (interruption.status !== null) process.exit()
    interruption.end()
  }

const isOfCutting = (error: unknown): boolean => {
  const { name, code } = error as NodeJS.ErrnoException
  return name === 'AbortError' || ['EPIPE', 'EIO', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code ?? '')
}

import { userInfo } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { Problem, type ProblemKind } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import type { Context, RunOptions } from './command.ts'
import { type Interruption, watchInterruption } from './interruption.ts'
import { fullCommand, givenFlag, withFlags } from './next.ts'
import { createOutput, type Format, jsonText, type Output, printable } from './output.ts'
import { showPages } from './pages.ts'
import { createProgress, noProgress } from './progress.ts'

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

/** How long the end may take where the database is away. */
const closeMs = 3000

export interface GlobalOptions {
  json?: boolean
  jsonl?: boolean
  quiet?: boolean
  account?: string
  color?: boolean
  pager?: boolean
  fields?: string
}

export type Open = () => Promise<App>

const isPerson = (): boolean => Boolean(process.stdin.isTTY && process.stdout.isTTY && !process.env.CI)

const formatOf = (options: GlobalOptions): Format => {
  if (options.json) return 'json'
  if (options.jsonl) return 'jsonl'
  if (options.quiet) return 'ids'
  return process.stdout.isTTY ? 'table' : 'plain'
}

const fieldsOf = ({ fields, quiet }: GlobalOptions): string[] | null => {
  if (fields === undefined) return null
  if (quiet) throw new Problem('usage', 'Give --fields or -q, which prints ids, not both')
  return fields.split(',').map((field) => field.trim())
}

/** What a command of these options prints to; `now` gives the time that others are relative to. */
const openOutput = (options: GlobalOptions, now: () => number): Output => {
  const { stdout, stderr } = process
  const { columns = 80, rows = 24, isTTY = false } = stdout
  // Prompts read it, too.
  if (options.color === false) process.env.NO_COLOR = '1'
  const page = async (text: string) => {
    const { pager } = await import('./pager.ts')
    return pager({ stdout, rows, columns, env: process.env })(text)
  }
  return createOutput({
    format: formatOf(options),
    stdout,
    stderr,
    isTerminal: isTTY,
    isColoured: isTTY && stdout.hasColors(),
    fields: fieldsOf(options),
    columns,
    now,
    ...(isPerson() && options.pager !== false && { page }),
  })
}

/** What to say where the database is away, or too busy; null: it is something else. */
const databaseProblem = async (error: unknown): Promise<Problem | null> => {
  const { isUnavailable, unavailable } = await import('../store/database.ts')
  return isUnavailable(error) ? new Problem('unavailable', unavailable(error).message, { hint: 'svc db status' }) : null
}

/**
 * Prints a failure on stderr and gives its exit status. A fault of ours is one line too, with the stack on demand. Whoever
 * used the command wrongly is told `help`, where the failure itself knows no better.
 */
export const reportFailure = async (error: unknown, asJson: boolean, help: string): Promise<number> => {
  // Ctrl-C at a question.
  if ((error as Error)?.name === 'ExitPromptError') return 130
  let problem: Problem
  if (error instanceof Problem) problem = error
  else
    problem =
      (await databaseProblem(error)) ??
      new Problem('unauthorized', `Something went wrong: ${(error as Error)?.message ?? error}`)
  const status = statuses[problem.kind]
  const hint = problem.detail.hint ?? (problem.kind === 'usage' ? help : undefined)
  if (asJson) process.stderr.write(`${jsonText({ error: problem.message, ...(hint && { hint }) })}\n`)
  else process.stderr.write(`error: ${printable(problem.message)}\n${hint ? `  next: ${printable(hint)}\n` : ''}`)
  if (process.env.SVC_LOG_LEVEL === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return status
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
  command: Command,
  out: Output,
  app: App | null,
  { signal }: Interruption,
  exit: (status: number) => void,
): Run => {
  const options = command.optsWithGlobals<GlobalOptions>()
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
    follow: async (channel, look) => (await import('./follow.ts')).follow(context, channel, look),
    pages: (...list) => showPages(context, ...list),
    progress: (noun) => (out.format === 'ids' ? noProgress : createProgress(process.stderr, noun)),
    confirm: async (what, { yes, dryRun }, planned) => {
      if (dryRun) {
        out.one({ dryRun: true, ...planned })
        out.note(`Would ${what}. Nothing was changed.`)
        return false
      }
      if (yes) return true
      if (!isPerson()) throw new Problem('usage', `This would ${what}: it needs --yes`, { hint: withFlags('--yes') })
      const { confirm } = await import('@inquirer/prompts')
      return confirm({ message: `This will ${what}. Go on?`, default: false })
    },
    require: async (flags) => {
      const lacking = Object.keys(flags).filter((name) => flags[name] === undefined)
      if (lacking.length > 0 && !isPerson()) {
        throw new Problem('usage', `Missing ${lacking.map((name) => `--${name}`).join(', ')}`, {
          hint: withFlags(...lacking.map((name) => givenFlag(command, name))),
        })
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

/** Closes the app; false where the database is away, and so silent that it does not end. */
const closing = async (app: App | null, isAway: boolean): Promise<boolean> => {
  const closed = (app?.close() ?? Promise.resolve()).then(
    () => true,
    () => true,
  )
  if (!isAway) return closed
  const ended = new AbortController()
  const isLate = sleep(closeMs, false, { signal: ended.signal }).catch(() => false)
  return Promise.race([closed, isLate]).finally(() => ended.abort())
}

/** Makes an action of a function: opens the app, runs it, closes, and turns what it throws into an exit status. */
export const runner =
  (open: Open) =>
  <Args extends unknown[]>(act: (context: Context, ...args: Args) => Promise<void>, run: RunOptions = {}) =>
  async (...args: Args): Promise<void> => {
    const command = args.at(-1) as Command
    const options = command.optsWithGlobals<GlobalOptions>()
    const report = (error: unknown) =>
      reportFailure(error, Boolean(options.json || options.jsonl), `${fullCommand(command)} --help`)
    let app: App | null = null
    let status: number | null = null
    let isClosed = true
    const interruption = watchInterruption(() => status)
    try {
      const out = openOutput(options, () => app?.now().getTime() ?? Date.now())
      if (run.app !== 'none') app = await open()
      if (!interruption.signal.aborted) {
        const { context, heeds } = createContext(command, out, app, interruption, (code) => {
          status = code
        })
        // What a command opened for itself it has to close itself.
        await Promise.race([act(context, ...args), interruption.unheeded(() => run.app === 'none' || heeds())])
      }
      status ??= interruption.status ?? 0
    } catch (error) {
      // Cut short is what it was to be: no failure to tell of.
      const isCut = interruption.fault !== null || (interruption.status !== null && isOfCutting(error))
      const failure = isCut ? 0 : await report(error)
      status = interruption.status ?? failure
    } finally {
      isClosed = await closing(app, status === statuses.unavailable)
    }
    if (interruption.fault) status = await report(interruption.fault)
    process.exitCode = status
    // What was cut off may still wait for something; nothing of ours is left.
    if (interruption.status !== null || !isClosed) process.exit()
    interruption.end()
  }

const isOfCutting = (error: unknown): boolean => {
  const { name, code } = error as NodeJS.ErrnoException
  return name === 'AbortError' || ['EPIPE', 'EIO', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code ?? '')
}

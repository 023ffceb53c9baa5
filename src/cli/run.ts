import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { Problem, type ProblemKind } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import type { Context, RunOptions } from './command.ts'
import { fullCommand, givenFlag, withFlags } from './next.ts'
import { createOutput, type Format, type Output, printable } from './output.ts'
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

const isDatabaseAway = async (error: unknown): Promise<boolean> =>
  (await import('../store/database.ts')).isUnavailable(error)

/**
 * Prints a failure on stderr and gives its exit status. A fault of ours is one line too, with the stack on demand. Whoever
 * used the command wrongly is told `help`, where the failure itself knows no better.
 */
export const reportFailure = async (error: unknown, asJson: boolean, help: string): Promise<number> => {
  // Ctrl-C at a question.
  if ((error as Error)?.name === 'ExitPromptError') return 130
  let problem: Problem
  if (error instanceof Problem) problem = error
  else if (await isDatabaseAway(error))
    problem = new Problem('unavailable', 'The database is not available', { hint: 'svc db status' })
  else
    problem = Object.assign(new Problem('unauthorized', `Something went wrong: ${(error as Error)?.message ?? error}`))
  const status = statuses[problem.kind]
  const hint = problem.detail.hint ?? (problem.kind === 'usage' ? help : undefined)
  if (asJson) process.stderr.write(`${JSON.stringify({ error: problem.message, ...(hint && { hint }) })}\n`)
  else process.stderr.write(`error: ${printable(problem.message)}\n${hint ? `  next: ${hint}\n` : ''}`)
  if (process.env.SVC_LOG_LEVEL === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return status
}

/** The context of one run of one command, and what ends it. */
const createContext = (command: Command, out: Output, app: App | null) => {
  const options = command.optsWithGlobals<GlobalOptions>()
  const stop = new AbortController()
  let status: number | null = null
  let interrupted = 0
  const interrupt = (signal: NodeJS.Signals) => {
    interrupted = signal === 'SIGINT' ? 130 : 143
    // The first asks for a clean stop, the second does not wait for it.
    if (stop.signal.aborted) process.exit(interrupted)
    stop.abort()
  }
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  const actor = `cli:${process.env.SVC_USER ?? userInfo().username}`
  let account: Promise<{ id: string; name: string }> | undefined
  const context: Context = {
    get app() {
      if (!app) throw new Error('This command runs without the app')
      return app
    },
    out,
    actor,
    signal: stop.signal,
    exit: (code) => {
      status = code
    },
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
  const end = () => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    return { status, interrupted }
  }
  return { context, end }
}

/** Makes an action of a function: opens the app, runs it, closes, and turns what it throws into an exit status. */
export const runner =
  (open: Open) =>
  <Args extends unknown[]>(act: (context: Context, ...args: Args) => Promise<void>, run: RunOptions = {}) =>
  async (...args: Args): Promise<void> => {
    const command = args.at(-1) as Command
    const options = command.optsWithGlobals<GlobalOptions>()
    let app: App | null = null
    let end = (): { status: number | null; interrupted: number } => ({ status: null, interrupted: 0 })
    try {
      const out = openOutput(options, () => app?.now().getTime() ?? Date.now())
      if (run.app !== 'none') app = await open()
      const made = createContext(command, out, app)
      end = made.end
      await act(made.context, ...args)
      const { status, interrupted } = end()
      process.exitCode = status ?? interrupted
    } catch (error) {
      const { interrupted } = end()
      const asJson = Boolean(options.json || options.jsonl)
      const status = await reportFailure(error, asJson, `${fullCommand(command)} --help`)
      process.exitCode = interrupted || status
    } finally {
      await app?.close().catch(() => {})
    }
  }

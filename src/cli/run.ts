import { userInfo } from 'node:os'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { Problem, type ProblemKind } from '../lib/problem.ts'
import type { App, Operation } from '../store/work.ts'
import type { ChoicesOf } from './choices.ts'
import type { Context, RunOptions } from './command.ts'
import { longFlag } from './define.ts'
import { isAsciiOnly } from './draw/draw.ts'
import { isPerson } from './input.ts'
import { type Interruption, watchInterruption } from './interruption.ts'
import { declaredFlag, fullCommand, withFlags } from './next.ts'
import { createOutput, type Format, failureText, type Names, type Output } from './output.ts'
import { createProgress, noProgress } from './progress.ts'
import { showPages } from './show-pages.ts'
import { rolledBack, rollingBack } from './trial.ts'
import { expandIds, withWholeIds } from './whole-ids.ts'

/** Exit statuses: docs/reference/cli.md#exit-codes. */
const statuses: Record<ProblemKind, number> = {
  invalid: 2,
  usage: 2,
  not_found: 3,
  configuration: 4,
  forbidden: 6,
  conflict: 6,
  gone: 6,
  limited: 6,
  unauthorized: 1,
  internal: 1,
  unavailable: 7,
  upstream: 7,
}

/** How long closing may take if the database is unavailable. */
const closeMs = 3000

interface GlobalOptions {
  json?: boolean
  jsonl?: boolean
  quiet?: boolean
  account?: string
  color?: boolean
  pager?: boolean
  fields?: string
  wide?: boolean
}

export type Open = () => Promise<App>

/** What the output of a command looks up for a person. */
export interface Lookups {
  /** Returns the names of those ids of the account whose things have one. */
  namesOf(context: Context, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Returns the URL of the console of the running `svc dev`; null if none runs. */
  consoleUrl(): Promise<string | null>
}

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

/** Returns the output of a command with these options. `now` returns the time that relative times refer to, `names` the names of ids. */
const openOutput = (options: GlobalOptions, now: () => number, names: Names): Output => {
  const { stdout, stderr } = process
  const { isTTY = false } = stdout
  // A terminal whose size is unknown reports 0.
  const [columns, rows] = [stdout.columns || 80, stdout.rows || 24]
  // Prompts read this variable, too.
  if (options.color === false) {
    process.env.NO_COLOR = '1'
    delete process.env.FORCE_COLOR
  }
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
    isAscii: isAsciiOnly(process.env),
    fields: fieldsOf(options),
    columns,
    isWide: options.wide === true,
    now,
    names,
    ...(isPerson() && options.pager !== false && { page }),
  })
}

/** Returns the problem to report if the database is unavailable or too busy; null for any other error. */
const databaseProblem = async (error: unknown): Promise<Problem | null> => {
  const { isUnavailable, unavailable } = await import('../store/database.ts')
  return isUnavailable(error) ? new Problem('unavailable', unavailable(error).message) : null
}

/** What is printed after `next:` for errors of these kinds, if they have no hint of their own. For other kinds it is the help. */
const hints: Partial<Record<Problem['kind'], string | undefined>> = {
  unavailable: 'svc doctor',
  internal: 'svc doctor',
  // The message says what to set.
  configuration: undefined,
}

/**
 * Prints a failure on stderr and returns its exit status. An unexpected error is one line too; its stack follows with
 * SVC_LOG_LEVEL=debug. An error without a hint of its own gets that of its kind, or `help`.
 */
export const reportFailure = async (error: unknown, asJson: boolean, help: string): Promise<number> => {
  // Ctrl-C at a question.
  if ((error as Error)?.name === 'ExitPromptError') return 130
  let problem: Problem
  if (error instanceof Problem) problem = error
  else
    problem =
      (await databaseProblem(error)) ??
      new Problem('internal', `Something went wrong: ${(error as Error)?.message ?? error}`)
  const status = statuses[problem.kind]
  const usual = problem.kind in hints ? hints[problem.kind] : help
  process.stderr.write(failureText(asJson, problem.message, problem.detail.hint ?? usual))
  if (process.env.SVC_LOG_LEVEL === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return status
}

/** Returns the name of the user at the terminal, or `uid-<n>` if the user id has no name, as in containers. */
const operator = (): string => {
  if (process.env.SVC_USER) return process.env.SVC_USER
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.()}`
  }
}

/** Returns the context for the dry run of a command with `rollsBack`. */
const dryRunContext = (context: Context): Context => {
  const { out } = context
  return Object.create(context, {
    app: { get: () => rollingBack(context.app) },
    work: { value: context.trial },
    operate: { value: <T>(run: (operation: Operation) => Promise<T>) => rolledBack(context.operate<never>, run) },
    out: {
      value: {
        ...out,
        one: (thing: object, shown?: object) =>
          out.one({ dryRun: true, ...thing }, shown && { dryRun: true, ...shown }),
        list: (...[noun, rows, columns, nextCursor, options]: Parameters<Output['list']>) =>
          out.list(noun, rows, columns, nextCursor, { ...options, beside: { dryRun: true, ...options?.beside } }),
      },
    },
  })
}

interface Run {
  context: Context
  /** Whether the command handles the signal itself. */
  handlesSignal(): boolean
  /** Chooses the account, if the command has one, before other questions: their choices are those of the account. */
  settleAccount(): Promise<void>
}

/** Returns the account of a command. On a terminal it offers the accounts if there are several and none is named. */
const chooseAccount = async (
  context: Context,
  ref: string | undefined,
  loadChoices: () => Promise<ChoicesOf>,
): Promise<{ id: string; name: string }> => {
  const accounts = await import('../accounts/accounts.ts')
  const choose = (named?: string) => context.operate((operation) => accounts.chooseAccount(operation, named))
  try {
    return await choose(await withWholeIds(context, ['', '<account>'], ref, loadChoices))
  } catch (error) {
    const areSeveral = !ref && error instanceof Problem && error.kind === 'usage'
    if (!areSeveral || !context.asks) throw error
  }
  const [{ askChoice }, choicesOf] = await Promise.all([import('./ask.ts'), loadChoices()])
  return choose(await askChoice('Account:', (await choicesOf('', '<account>')?.load(context, () => [])) ?? []))
}

/** Returns which of the flags are missing. Throws Problem `usage` if some are and there is no terminal to ask on. */
const lackingFlags = <Name extends string>(command: Command, flags: object, names: readonly Name[]): Name[] => {
  const lacking = names.filter((name) => (flags as Record<string, unknown>)[name] === undefined)
  if (lacking.length === 0 || isPerson()) return lacking
  throw new Problem('usage', `Missing ${lacking.map(longFlag).join(', ')}`, {
    hint: withFlags(...lacking.map((name) => declaredFlag(command, longFlag(name)))),
  })
}

/** Creates the context of one run of one command. */
const createContext = (
  command: Command,
  out: Output,
  app: App | null,
  { signal }: Interruption,
  exit: (status: number) => void,
  loadChoices: () => Promise<ChoicesOf>,
  loadLookups: () => Promise<Lookups>,
  run: RunOptions,
): Run => {
  const options = command.optsWithGlobals<GlobalOptions>()
  const actor = `cli:${operator()}`
  let handlesSignal = false
  const named = options.account ?? (process.env.SVC_ACCOUNT || undefined)
  let account: Promise<{ id: string; name: string }> | undefined
  const settleAccount = async () => {
    if (run.app !== 'none' && run.account !== 'none') await context.account()
  }
  const context: Context = {
    get app() {
      if (!app) throw new Error('This command runs without the app')
      return app
    },
    out,
    actor,
    get signal() {
      handlesSignal = true
      return signal
    },
    exit,
    account: () => {
      account ??= chooseAccount(context, named, loadChoices)
      return account
    },
    isAccountNamed: named !== undefined,
    timezone: async () => {
      const [{ readBrand }, { id }] = await Promise.all([import('../accounts/accounts.ts'), context.account()])
      return (await readBrand({ sql: context.app.sql, accountId: id })).timezone
    },
    work: async (run) => context.app.work((await context.account()).id, actor, run),
    trial: (run) => rolledBack((trial) => context.work(trial), run),
    operate: (run) => context.app.operate(actor, run),
    follow: async (channel, look) => (await import('./follow.ts')).follow(context, channel, look),
    pages: (...list) => showPages(context, ...list),
    progress: (one) => (out.format === 'ids' ? noProgress : createProgress(process.stderr, one)),
    withProgress: async (noun, total, run) => {
      const bar = context.progress(noun)
      const fraction = (rows: number) => (total === null ? null : Math.min(1, rows / Math.max(total, 1)))
      return run((rows) => bar.update({ rows, fraction: fraction(rows) })).finally(bar.stop)
    },
    asks: isPerson(),
    next: async (command) => {
      if (out.format !== 'table') return
      out.next(command)
      const url = await (await loadLookups()).consoleUrl()
      if (url) out.note(`  console: ${url}`)
    },
    confirm: async (what, { yes, dryRun }, planned) => {
      if (dryRun) {
        out.one({ dryRun: true, ...planned })
        out.note(`Would ${what}. Nothing was changed.`)
        return false
      }
      if (yes) return true
      if (!isPerson()) throw new Problem('usage', `This would ${what}: it needs --yes`, { hint: withFlags('--yes') })
      return (await import('./ask.ts')).askConfirm(`This will ${what}. Go on?`)
    },
    require: async (flags, ...names) => {
      const lacking = lackingFlags(command, flags, names)
      if (lacking.length > 0) {
        await settleAccount()
        const [{ askFlag }, choicesOf] = await Promise.all([import('./choices.ts'), loadChoices()])
        for (const name of lacking)
          Object.assign(flags, { [name]: await askFlag(context, command, longFlag(name), choicesOf) })
      }
      return flags as never
    },
  }
  return { context, handlesSignal: () => handlesSignal, settleAccount }
}

/**
 * Returns the arguments of an action with whole ids, after asking for required ones that are missing. Without a terminal the
 * parser refuses a call that lacks one.
 */
const settleArguments = async <Args extends unknown[]>(
  { context, settleAccount }: Run,
  { registeredArguments: declared }: Command,
  args: Args,
  loadChoices: () => Promise<ChoicesOf>,
): Promise<Args> => {
  const command = args.at(-1) as Command
  const all = await expandIds(context, args, loadChoices)
  const isLeftOut = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0)
  const lacking = declared.flatMap((argument, at) =>
    argument.required && isLeftOut(all[at]) ? [{ argument, at }] : [],
  )
  if (lacking.length === 0) return all
  await settleAccount()
  const [{ askValue, placeOfArgument }, choicesOf] = await Promise.all([import('./choices.ts'), loadChoices()])
  for (const { argument, at } of lacking) {
    const values = await askValue(context, command, placeOfArgument(argument), choicesOf)
    all[at] = argument.variadic ? values : values.join(',')
    command.processedArgs[at] = all[at]
  }
  return all
}

/** Returns a failure, with a suggestion if a value was probably mistyped. */
const explained = async (...failure: Parameters<typeof import('./choices.ts').withSuggestion>): Promise<unknown> =>
  failure[0] instanceof Problem ? (await import('./choices.ts')).withSuggestion(...failure) : failure[0]

/** Closes the app. Returns false if the database is unavailable and closing did not finish in time. */
const closeApp = async (app: App | null, isAway: boolean): Promise<boolean> => {
  const closed = (app?.close() ?? Promise.resolve()).then(
    () => true,
    () => true,
  )
  if (!isAway) return closed
  const ended = new AbortController()
  const isLate = sleep(closeMs, false, { signal: ended.signal }).catch(() => false)
  return Promise.race([closed, isLate]).finally(() => ended.abort())
}

/** Returns the action for a function: opens the app, runs the function, closes the app, and turns errors into an exit status. */
export const runner =
  (open: Open, loadChoices: () => Promise<ChoicesOf>, loadLookups: () => Promise<Lookups>) =>
  <Args extends unknown[]>(act: (context: Context, ...args: Args) => Promise<void>, run: RunOptions = {}) =>
  async (...args: Args): Promise<void> => {
    const command = args.at(-1) as Command
    const options = command.optsWithGlobals<GlobalOptions>()
    const report = (error: unknown) =>
      reportFailure(error, Boolean(options.json || options.jsonl), `${fullCommand(command)} --help`)
    let app: App | null = null
    let context: Context | undefined
    let status: number | null = null
    let isClosed = true
    const interruption = watchInterruption(() => status)
    try {
      const aheadMs = (formatOf(options) === 'table' && (await run.aheadMs?.())) || 0
      const names: Names = async (ids) => (app && context ? (await loadLookups()).namesOf(context, ids) : new Map())
      const out = openOutput(options, () => app?.now().getTime() ?? Date.now() + aheadMs, names)
      // Before the app is opened: a missing flag is reported even if the database is unavailable.
      lackingFlags(command, args.at(-2) as object, run.needs ?? [])
      if (run.app !== 'none') app = await open()
      if (!interruption.signal.aborted) {
        const exit = (code: number) => {
          status = code
        }
        const created = createContext(command, out, app, interruption, exit, loadChoices, loadLookups, run)
        context = created.context
        // A command without the app closes its own connections, so it is never cut off.
        const isDry = run.rollsBack === true && command.opts<{ dryRun?: boolean }>().dryRun === true
        const settled = await settleArguments(created, command, args, loadChoices)
        const needed = context.require(settled.at(-2) as Record<string, unknown>, ...(run.needs ?? []))
        await Promise.race([
          needed.then(() => act(isDry ? dryRunContext(created.context) : created.context, ...settled)),
          interruption.cutOff(() => run.app === 'none' || created.handlesSignal()),
        ])
        if (isDry) out.note('Nothing was changed.')
      }
      status ??= interruption.status ?? 0
    } catch (error) {
      // The user interrupted the command, so this is not reported as an error.
      const isCut = interruption.fault !== null || (interruption.status !== null && isCausedByInterruption(error))
      const failure = isCut ? 0 : await report(context ? await explained(error, context, command, loadChoices) : error)
      // A closed pipe by itself is no failure, and it does not hide another failure.
      status = interruption.status || failure
    } finally {
      isClosed = await closeApp(app, status === statuses.unavailable)
      // A write that failed is reported after it has returned.
      await immediate()
    }
    // Ctrl-C exits with 130 in every command, also in those that only end by a signal.
    if (interruption.status === 130) status = 130
    if (interruption.fault) status = await report(interruption.fault)
    process.exitCode = status
    // A command that was cut off may still hold a handle that would keep the process running.
    if (interruption.status !== null || !isClosed) process.exit()
    interruption.end()
  }

const isCausedByInterruption = (error: unknown): boolean => {
  const { name, code } = error as NodeJS.ErrnoException
  return name === 'AbortError' || ['EPIPE', 'EIO', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code ?? '')
}

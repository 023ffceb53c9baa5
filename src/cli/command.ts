import type { Command } from 'commander'
import type { Page } from '../lib/cursor.ts'
import type { PageFlags, PageRequest } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { App, Operation, Work } from '../store/work.ts'
import type { Column, ListOptions, Output } from './output.ts'
import type { Progress } from './progress.ts'

/** The commands of a feature. Only what `--help` needs is imported here; operations are imported inside the actions. */
export type CommandSet = (cli: Cli) => void

export interface Cli {
  /** `svc <noun>`: a command of its own that holds verbs, also those that several features give it. */
  noun(name: string): Command
  /** Wraps an action: opens the app, runs, prints the failure, sets the exit status, closes. */
  run<Args extends unknown[]>(
    act: (context: Context, ...args: Args) => Promise<void>,
    options?: RunOptions,
  ): (...args: Args) => Promise<void>
}

export interface RunOptions {
  /** `none`: the command needs no database. */
  app?: 'open' | 'none'
}

/** What an action works with. Its further arguments are the positional ones, then the options. */
export interface Context {
  /** Opened at the first use. */
  readonly app: App
  readonly out: Output
  /** `cli:<user>` */
  readonly actor: string
  /** The account of `--account` or `SVC_ACCOUNT`, or the only one there is. */
  account(): Promise<{ id: string; name: string }>
  /** A unit of work of that account. */
  work<T>(run: (work: Work) => Promise<T>): Promise<T>
  operate<T>(run: (operation: Operation) => Promise<T>): Promise<T>
  /** Aborted by SIGINT and SIGTERM: long work stops at its next safe point. */
  readonly signal: AbortSignal
  /** The exit status where it is not 0 although nothing was thrown, such as 5 (partly done). */
  exit(status: number): void
  /**
   * A list that grows (`paged`): a page of it, or with --jsonl and -q all of it, page after page. `load` reads one page.
   */
  pages<Row extends object>(
    noun: string,
    flags: PageFlags,
    load: (request: PageRequest) => Promise<Page<Row>>,
    columns: readonly Column<Row>[],
    options?: ListOptions<Row>,
  ): Promise<void>
  /**
   * Calls `look` at each notice on a channel of the database and every second, until it is interrupted; that is no failure then.
   */
  follow(channel: string, look: () => Promise<void>): Promise<void>
  /** A bar of long work on stderr; with -q nothing is shown. */
  progress(noun: string): Progress
  /**
   * Asks before something that destroys; true to go on. `--yes` answers it, and so must be given where nobody can be
   * asked: exit 2 there. With `--dry-run` it prints `{ dryRun: true, ...planned }`, says what would happen and gives false.
   */
  confirm(what: string, options: { yes?: boolean; dryRun?: boolean }, planned?: object): Promise<boolean>
  /** Asks for a flag that was left out, on a terminal only; elsewhere exit 2 that names every missing one. */
  require<T extends Record<string, string | undefined>>(flags: T): Promise<Record<keyof T, string>>
}

/** `--limit` and `--cursor`, for lists that grow; printed by `pages`. */
export const paged = (command: Command): Command =>
  command
    .option('--limit <n>', 'rows to show, 1 to 1000; left out: 50, with --jsonl and -q all')
    .option('--cursor <cursor>', 'where the page before ended')

/** `--follow`, for lists of what happens; printed by `follow`. */
export const followed = (command: Command): Command =>
  command.option('--follow', 'print what happens from now on (or --since), as it happens, until Ctrl-C')

/** Throws Problem `usage` for flags of a page, which nothing that is followed has. */
export const demandNoPage = ({ limit, cursor }: PageFlags): void => {
  if (limit !== undefined || cursor !== undefined)
    throw new Problem('usage', '--follow goes without --limit and --cursor')
}

/** Gathers the values of an option that may be given again. */
export const gather = (value: string, earlier: string[]): string[] => [...earlier, value]

/*
 * What commands get. define.ts and flags.ts define commands, program.ts builds the program, and run.ts runs a command: exit
 * statuses, and whether to ask. output.ts prints, with draw/ (tables, charts), show-pages.ts, pager.ts, follow.ts and screen.ts
 * (full-screen views). choices.ts and ask.ts ask for what is missing (values: tools/choice-values.ts), whole-ids.ts completes
 * shortened ids, trial.ts runs dry, next.ts suggests the next command.
 */

import { setFlagsFromString } from 'node:v8'
import type { Page } from '../lib/cursor.ts'
import type { PageFlags, PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import type { App, Operation, Work } from '../store/work.ts'
import type { Confirmation } from './flags.ts'
import type { Column, ListOptions, Output } from './output.ts'
import type { Progress } from './progress.ts'

export interface RunOptions {
  /** `none` is for a command that needs no database. */
  app?: 'open' | 'none'
  /** `none` is for a command of the installation: no account is chosen before its questions. */
  account?: 'none'
  /** Returns how far the clock of relative times is ahead of the system's, in ms. It is for commands without the app. */
  aheadMs?: () => Promise<number>
  /** Whether `--dry-run` rolls back its units of work (`changing` of flags.ts). */
  rollsBack?: boolean
  /** The flags that it needs (`needed` of flags.ts). */
  needs?: readonly string[]
}

/** The first argument of `run`. The arguments of the command follow, then its flags. */
export interface Context {
  /** The open app. Throws for a command that runs without it. */
  readonly app: App
  readonly out: Output
  /** `cli:<user>` */
  readonly actor: string
  /** Returns the account of `--account` or `SVC_ACCOUNT`, or the only existing one. On a terminal it asks which if there are several. */
  account(): Promise<{ id: string; name: string }>
  /** Whether `--account` or `SVC_ACCOUNT` names the account. */
  readonly isAccountNamed: boolean
  /** Returns the time zone of that account, in which times without an offset are read, or null if none is set. */
  timezone(): Promise<string | null>
  /** Runs a unit of work of that account. */
  work<T>(run: (work: Work) => Promise<T>): Promise<T>
  operate<T>(run: (operation: Operation) => Promise<T>): Promise<T>
  /** Aborted by SIGINT and SIGTERM: long work stops at its next safe point. */
  readonly signal: AbortSignal
  /** Sets the exit status of a command that does not throw, such as 5 (partly done). */
  exit(status: number): void
  /**
   * Prints a `paged` list: one page of it, or with --jsonl and -q all pages. `load` reads one page.
   */
  pages<Row extends object>(
    noun: string,
    flags: PageFlags,
    load: (request: PageRequest) => Promise<Page<Row>>,
    columns: readonly Column<Row>[],
    options?: ListOptions<Row>,
  ): Promise<void>
  /**
   * Calls `look` at each notice on a channel of the database and every second, until the user interrupts it (exit 0).
   */
  follow(channel: string, look: () => Promise<void>): Promise<void>
  /** Returns a progress bar on stderr, of rows that are each called `one`; with -q it shows nothing. */
  progress(one: string): Progress
  /** Runs long work with that bar. `total` is the number of rows that `onRows` counts up to, or null if it is unknown. */
  withProgress<T>(noun: string, total: number | null, run: (onRows: (rows: number) => void) => Promise<T>): Promise<T>
  /** Runs a unit of work of that account and rolls it back: finds what a change would do, for `--dry-run` and questions. */
  trial<T>(run: (work: Work) => Promise<T>): Promise<T>
  /** Whether a person can be asked: for commands that ask on a terminal, and need no `--yes` elsewhere. */
  readonly asks: boolean
  /**
   * Asks before a deletion, and before emails or posts to many recipients (with the flags of `confirmed`). Returns true to continue.
   * `--yes` skips the question; without a terminal it is required (exit 2). With `--dry-run` it prints
   * `{ dryRun: true, ...planned }`, says what would happen and returns false.
   */
  confirm(what: string, options: Confirmation, planned?: object): Promise<boolean>
  /** Suggests the next command to a person, and names the console where `svc dev` runs. Scripts get neither. */
  next(command: string): Promise<void>
  /**
   * Asks for the named flags that are missing, on a terminal. Elsewhere throws Problem `usage` that names all of them. Answers are added to
   * `flags` itself, which it returns: no copy without them remains. It is for flags that are only sometimes needed (see `needed` of
   * flags.ts).
   */
  require<Flags extends object, Name extends keyof Flags & string>(
    flags: Flags,
    ...names: readonly Name[]
  ): Promise<Flags & Record<Name, string>>
}

/** Throws Problem `usage` for `--limit` and `--cursor`, which `--follow` excludes. */
export const requireNoPage = ({ limit, cursor }: PageFlags): void => {
  if (limit !== undefined || cursor !== undefined)
    throw new Problem('usage', "--follow can't be combined with --limit or --cursor")
}

/**
 * Makes V8 collect garbage early, for commands that stream. By default V8 trades memory for time: it keeps about 150 MB of
 * dead rows beside 35 MB of live data. A command that waits for the database has time to spare. Call this before anything
 * is loaded (`before` of a command), since the heap does not shrink again.
 */
export const collectEarly = (): void => {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=40')
}

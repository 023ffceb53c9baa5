import type { TermKind } from '../lib/filter.ts'
import type { Work } from '../store/work.ts'

/** Adds a parameter to a statement and returns its SQL, `$3`. */
export type Bind = (value: unknown) => string

/** A project, or broadcasts: emails of these projects, and if `keys` is set only those with a key that begins with one of them. */
export interface Scope {
  /** The ids of the project, or of the broadcasts. */
  ids: readonly string[]
  projectIds: readonly string[]
  keys: readonly string[] | null
}

/**
 * The ids that each name in a filter stands for, in the order of the names. A stored filter keeps them, so that it still means the same
 * after something was renamed.
 */
export type FilterNames = readonly (readonly string[])[]

/** What a term's rows are selected for: SQL of the account, and of the time. */
export interface Asked {
  account: string
  now(): string
  scope: Scope | null
  /** What follows the name of a term with a parameter. */
  parameter: string | null
  bind: Bind
}

/**
 * The SQL of the rows of a term. Each row has an address (`email`) and the term's value for it, which is not null. `rowId` is the
 * row id of the address, for terms whose rows are looked up by it.
 */
interface Rows {
  from: string
  where: string
  email: string
  value: string
  rowId?: string
}

/**
 * A term of the filter language, which the owner of its tables defines. An address may have any number of rows; of `time` the latest one
 * counts, of other kinds any.
 */
export interface Term extends TermKind {
  readonly name: string
  /** The number that an address without rows has. It is absent if it has no value. */
  readonly missing?: number
  /** Returns the ids that are the values of a term of the kind `name`. Throws Problem `not_found` or `conflict`. */
  find?(work: Work, ref: string): Promise<readonly string[]>
  rows(asked: Asked): Rows
  /**
   * Returns an SQL query of the number of all values. Only a term of the kind `name` has it, whose rows are the values that an
   * address does not have, because most addresses have all of them.
   */
  countAll?(asked: Asked): string
}

/** The terms of the features after this one, and what `in <project|broadcast>` names. */
export interface FilterParts {
  readonly terms: readonly Term[]
  /** Throws Problem `not_found`. */
  findScope(work: Work, ref: string): Promise<Scope>
}

declare module '../store/work.ts' {
  interface Operation {
    /** The first call of a process loads them, with parts of most features. */
    filterParts(): Promise<FilterParts>
  }
}

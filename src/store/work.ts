/*
 * work.ts and work-state.ts are the unit of work. database.ts has the pool and transactions, connection.ts deadlines,
 * faults.ts which errors mean unavailable, statement.ts declared statements, tenant.ts the account column and the ORM's
 * filter, background.ts jobs, notices.ts notices after commits, migrations.ts and schema.ts the migrations.
 */

import type { EntityManager } from '@mikro-orm/postgresql'
import type { Beats } from '../lib/beats.ts'
import type { Counters } from '../lib/counters.ts'
import type { SecretBox } from '../lib/secrets.ts'
import type { Tokens } from '../lib/token.ts'
import type { HttpClient } from '../net/http.ts'
import type { Resolver } from '../net/resolver.ts'
import type { SmtpClient } from '../net/smtp.ts'
import type { Database, Sql } from './database.ts'

/**
 * The unit of work: one transaction on one connection. Edges and jobs open it; operations receive it and never open one.
 * Inside it no socket is used except that of the database.
 */
export interface Operation {
  /** One statement with bound parameters, inside the transaction. Raw SQL names the account. */
  readonly sql: Sql
  /**
   * MikroORM on the same transaction, filtered to the account, for the entities of a module. The first call of a process loads it:
   * 130 ms of CPU and 30 MB.
   */
  em<Entities extends object>(entities: Promise<Entities>): Promise<readonly [EntityManager, Entities]>
  /** `key:<id>`, `cli:<user>`, `journey:<id>` or `job:<name>`. */
  readonly actor: string
  /** The time of everything that this unit of work does. Operations never ask the clock. */
  readonly now: Date
  /** Counts once the transaction is committed. */
  readonly count: Counters['count']
  /**
   * Notifies the jobs of all processes on a channel once the transaction is committed. Equal notices may be sent once. With
   * `ownFirst`, the jobs of this process get a head start.
   */
  announce(channel: string, payload?: string, how?: { ownFirst: boolean }): void
  /** The listeners of all features, in the order of their locks. The first call of a process loads them. */
  listeners(): Promise<readonly Listener[]>
  /** Has `run` run at the end, before the commit: what all others wait for, such as a hot counter, is locked last. */
  last(run: () => Promise<void>): void
}

/** A unit of work of one account: every query in it names that account. */
export interface Work extends Operation {
  readonly accountId: string
  /** Returns what the owner of `key` keeps in this unit of work. The first call creates it; a repeated transaction begins without it. */
  state<T>(key: StateKey<T>): T
}

/** What a statement of one account needs. A unit of work has it, and reads without one pass it. */
export type AccountSql = Pick<Work, 'sql' | 'accountId'>

/** Names what one owner keeps in a unit of work, such as rows that it has read. Other code cannot reach it. */
export interface StateKey<T> {
  readonly create: (work: Work) => T
}

/**
 * A feature's reactions to what other features do, in the same transaction. The feature that calls a member of it declares the
 * member in its front (`declare module`, docs/adr/0055-features-declare-their-hooks.md).
 */
// biome-ignore lint/suspicious/noEmptyInterface: features add its members
export interface Listener {}

/** The personal data that one feature stores about an address (`svc contacts export --email`). */
export interface PersonalDataPart {
  /** The part's property in the export. */
  name: string
  /** Erasing the address keeps this part; the feature gives the reason. */
  staysAtErasure?: boolean
  /** Returns the rows about a normalised address as they are exported: times in epoch ms. */
  read(reader: AccountSql, email: string): Promise<readonly object[]>
}

/** Reports an unexpected error to the operator. `about` identifies the affected objects by ids: no secrets, no addresses. */
export type Report = (fault: unknown, about: Record<string, unknown>) => void

/** The settings that operations read. Features add theirs (`declare module`); app/config.ts reads them. */
export interface Settings {
  readonly publicUrl: string
  /** How long the content of messages, and what programs report, is kept. With 0 it is kept for ever. */
  readonly messageRetentionDays: number
}

/**
 * What exists outside units of work: the pool, the sockets and the clock. Only operations that need a socket take it. Features add
 * what they need of later features, which app/features.ts provides.
 */
export interface App {
  readonly config: Settings
  readonly database: Database
  /** Runs a statement outside any transaction. */
  readonly sql: Sql
  readonly box: SecretBox
  readonly resolver: Resolver
  readonly http: HttpClient
  readonly smtp: SmtpClient
  readonly tokens: Tokens
  /** What this process has done, with all of its threads. */
  readonly counters: Counters
  /** When heartbeats found last that a scheduler of this process has no work, by its name (queue/looks.ts). */
  readonly looks: Beats
  /** What the features hold about addresses. The first call of a process loads it. */
  personalData(): Promise<readonly PersonalDataPart[]>
  readonly report: Report
  /** A job's thread reports that its worker has completed a heartbeat or a poll; elsewhere it does nothing. */
  beat(): void
  /** Runs `end` before the app closes its database, so that background work can finish. */
  onClose(end: () => Promise<void>): void
  /** The database's time, which all processes share: for times that are stored or compared. */
  now(): Date
  /** The process's own clock plus the offset of a development database: for signatures, which receivers check by their own clocks. */
  systemNow(): Date
  /** Calls `run` each time the clock of a development database has moved, until the returned function is called. */
  onClockMoved(run: () => void): () => void
  /** Reads the clock of a development database again, because a statement can see a move of it before its notice arrives. */
  catchUpClock(): Promise<void>
  /** Opens a unit of work. Throws Problem `not_found` if the account does not exist or is being deleted. */
  work<T>(accountId: string, actor: string, run: (work: Work) => Promise<T>): Promise<T>
  /** Opens a unit of work without an account: for accounts, plans, and jobs that work across accounts. */
  operate<T>(actor: string, run: (operation: Operation) => Promise<T>): Promise<T>
  close(): Promise<void>
}

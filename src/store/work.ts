import type { EntityManager } from '@mikro-orm/postgresql'
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
  /** MikroORM on the same transaction, filtered to the account. The first call of a process loads it: 300 ms and 40 MB. */
  em(): Promise<EntityManager>
  /** `key:<id>`, `cli:<user>`, `journey:<id>` or `job:<name>`. */
  readonly actor: string
  /** The time of everything that this unit of work does. Operations never ask the clock. */
  readonly now: Date
  /** Counts once the transaction is committed. */
  readonly count: Counters['count']
  readonly listeners: readonly Listener[]
  readonly sources: Sources
  /** Has `run` run at the end, before the commit: what all others wait for, such as a hot counter, is locked last. */
  last(run: () => Promise<void>): void
}

/** A unit of work of one account: every query in it names that account. */
export interface Work extends Operation {
  readonly accountId: string
  /** Returns what the owner of `key` keeps in this unit of work. The first call creates it; a repeated transaction begins without it. */
  state<T>(key: StateKey<T>): T
}

/** Names what one owner keeps in a unit of work, such as rows that it has read. Other code cannot reach it. */
export interface StateKey<T> {
  readonly create: (work: Work) => T
}

/** A feature's reactions to changes of other features, in the transaction of the change. */
export interface Listener {
  /** Which events it receives. Absent: none. */
  readonly events?: {
    /**
     * SQL condition: whether the listener wants events of the type `$2` of the account `$1`. One round trip evaluates the
     * conditions of all listeners. An event that no listener wants is not built.
     */
    readonly wanted: string
    receive(work: Work, events: readonly EmittedEvent[]): Promise<void>
  }
  /** A key was revoked: whatever depends on it ends in the same transaction. */
  keyRevoked?(work: Work, keyId: string): Promise<void>
  /** Counts what a revocation of the key would end: active subscriptions, and deliveries that wait for them. */
  keyEnds?(work: Work, keyId: string): Promise<{ subscriptions: number; deliveries: number }>
  /** Counts what refers to a project and would lose it by its deletion. */
  projectUses?(work: Work, projectId: string): Promise<{ bindings?: number; broadcasts?: number }>
  /** Contacts were removed: those of a list (`listId`), of an address (`email`), or one contact (both). `rowId` is the address's. */
  contactsRemoved?(work: Work, removed: { listId?: string; email?: string; rowId?: string }): Promise<void>
  /** Contacts that were pending have become active; called in the transaction that confirms them. */
  contactsActivated?(work: Work, contacts: readonly { listId: string; rowId: string; email: string }[]): Promise<void>
  /** A normalised address was enrolled in a course that it was not enrolled in; called in the transaction that writes it. */
  memberEnrolled?(work: Work, enrolled: { course: { id: string; title: string }; email: string }): Promise<void>
  /** A normalised address got a seat in a webinar, by registration or from the waitlist; called in the transaction that writes it. */
  attendeeRegistered?(work: Work, registered: { webinar: { id: string; title: string }; email: string }): Promise<void>
  /** Deliveries that a caller waits for have ended; called in the transaction that records it. */
  deliveriesEnded?(work: Work, ended: readonly EndedDelivery[]): Promise<void>
  /** Normalised addresses get no more email, or (`unsubscribed`) no marketing; called in the transaction that writes it. */
  addressesSuppressed?(work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void>
  /**
   * The account's deletion has begun: everything that leaves the system for it ends now; its rows are deleted later. No unit of
   * work of the account begins any more, though some may still be running. Use a few set-based statements only (`em` has no
   * account here).
   */
  accountClosed?(work: Work): Promise<void>
}

export type SuppressionReason = 'complained' | 'bounced' | 'manual' | 'unsubscribed'

/**
 * Finds the objects that definitions refer to, by id or name, for features that don't know the owner; throws Problem
 * `not_found`. References of a kind that is absent here are kept as they are written.
 */
export type Sources = {
  readonly [kind in 'project' | 'form' | 'webinar' | 'course']?: (work: Work, ref: string) => Promise<{ id: string }>
}

/** Emails that are rendered from a project, as the messages feature sees them. */
export interface Projects {
  /** Returns the newest version of the account's project; null if there is no such project. */
  loadProject(work: Work, id: string): Promise<{ id: string; name: string; version: number } | null>
  /** Renders the email of a version for one recipient. `links.unsubscribe`: the visible link, in marketing email. */
  renderProject(
    app: App,
    mail: {
      accountId: string
      messageId: string
      id: string
      version: number
      mergeData: Record<string, string>
      links: { unsubscribe: string | null }
    },
  ): Promise<{ html: string; text: string }>
}

/**
 * The kinds of objects that lifecycle emails can be bound to. Each function finds an object of the account by its id. Throws
 * Problem `not_found`.
 */
export type Bindable = Readonly<
  Record<'course' | 'webinar', (work: Work, id: string) => Promise<{ id: string; title: string }>>
>

/** The personal data that one feature stores about an address (`svc contacts export --email`). */
export interface PersonalDataPart {
  /** The part's property in the export. */
  name: string
  /** Erasing the address keeps this part; the feature gives the reason. */
  staysAtErasure?: boolean
  /** Returns the rows about a normalised address as they are exported: times in epoch ms. */
  read(reader: Pick<Work, 'sql' | 'accountId'>, email: string): Promise<readonly object[]>
}

/** The end of a delivery that a caller waits for. */
export interface EndedDelivery {
  id: string
  status: 'delivered' | 'exhausted' | 'cancelled'
  /** Number of attempts. */
  attempts: number
  lastStatus: number | null
  lastError: string | null
}

/** The envelope of an event, as it is delivered (docs/reference/events.md#envelope). */
export interface EmittedEvent {
  id: string
  type: string
  /** epoch ms */
  createdAt: number
  data: unknown
}

/** Reports an unexpected error to the operator. `about` identifies the affected objects by ids: no secrets, no addresses. */
export type Report = (fault: unknown, about: Record<string, unknown>) => void

/** What exists outside units of work: the pool, the sockets and the clock. Only operations that need a socket take it. */
export interface App {
  readonly config: {
    publicUrl: string
    /** The platform's relay. */
    smtpUrl: string | null
    rateLimit: number
    rateLimitWebhooks: number
    rateLimitForms: number
    allowPrivateWebhooks: readonly string[]
    journeyRetentionDays: number
    accessLogRetentionMonths: number
    importRetentionDays: number
    rejectRetentionDays: number
    /** 0: without a limit. */
    messageRetentionDays: number
    /** 0: without a limit. */
    responseRetentionDays: number
    /** The URL of Stripe's API; null: the default of Stripe's library. */
    stripeApiUrl: string | null
    /** CIDR blocks of proxies whose statement of the client's address is trusted. */
    trustProxy: readonly string[]
    /** Allows reading /metrics from any address; null: /metrics can be read from this machine only. */
    metricsToken: string | null
  }
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
  /** null if no feature renders projects. */
  readonly projects: Projects | null
  readonly bindable: Bindable
  /** What the features hold about addresses. */
  readonly personalData: readonly PersonalDataPart[]
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
  /** Opens a unit of work. Throws Problem `not_found` if the account does not exist or is being deleted. */
  work<T>(accountId: string, actor: string, run: (work: Work) => Promise<T>): Promise<T>
  /** Opens a unit of work without an account: for accounts, plans, and jobs that work across accounts. */
  operate<T>(actor: string, run: (operation: Operation) => Promise<T>): Promise<T>
  close(): Promise<void>
}

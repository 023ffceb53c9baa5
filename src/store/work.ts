import type { EntityManager } from '@mikro-orm/postgresql'
import type { SecretBox } from '../lib/secrets.ts'
import type { Tallies } from '../lib/tallies.ts'
import type { Tokens } from '../lib/token.ts'
import type { HttpClient } from '../net/http.ts'
import type { Resolver } from '../net/resolver.ts'
import type { SmtpClient } from '../net/smtp.ts'
import type { Database, Sql } from './database.ts'

/**
 * The unit of work: one transaction on one connection. Operations take it and never open one; edges and jobs open it.
 * No socket but the database's is used inside it.
 */
export interface Operation {
  /** One statement with bound parameters, inside the transaction. Raw SQL names the account. */
  readonly sql: Sql
  /** MikroORM on the same transaction, filtered to the account. It is loaded where a process first asks: 300 ms and 40 MB. */
  em(): Promise<EntityManager>
  /** `key:<id>`, `cli:<user>`, `journey:<id>` or `job:<name>`. */
  readonly actor: string
  /** The time of everything that this unit of work does. Operations never ask the clock. */
  readonly now: Date
  /** Counts once the transaction is committed. */
  readonly count: Tallies['count']
  readonly listeners: readonly Listener[]
  readonly sources: Sources
  /** Has `run` run at the end, before the commit: what all others wait for, such as a hot counter, is locked last. */
  last(run: () => Promise<void>): void
}

/** A unit of work of one account: every query in it names that account. */
export interface Work extends Operation {
  readonly accountId: string
}

/** Hears the events of other features inside the transaction that caused them. */
export interface Listener {
  /** Which events it receives. Absent: none. */
  readonly events?: {
    /**
     * Whether it wants events of the type `$2` from the account `$1`: an SQL condition, so that all listeners are asked in one
     * round trip. An event that no listener wants is not built.
     */
    readonly wanted: string
    receive(work: Work, events: readonly EmittedEvent[]): Promise<void>
  }
  /** A key was revoked: what depended on it ends in the same transaction. */
  keyRevoked?(work: Work, keyId: string): Promise<void>
  /** How much of that there is now: active subscriptions, and deliveries that wait for them. */
  keyEnds?(work: Work, keyId: string): Promise<{ subscriptions: number; deliveries: number }>
  /** Contacts left a list (`listId`), the account (`email`), or that address that list (both). `rowId` is the address's. */
  contactsRemoved?(work: Work, removed: { listId?: string; email?: string; rowId?: string }): Promise<void>
  /** Contacts that were pending have become active; told in the transaction that confirms them. */
  contactsActivated?(work: Work, contacts: readonly { listId: string; rowId: string; email: string }[]): Promise<void>
  /** A course's key was given to an address (normalised) that did not have it; told in the transaction that writes it. */
  memberEnrolled?(work: Work, enrolled: { course: { id: string; title: string }; email: string }): Promise<void>
  /** A seat in a webinar was given to an address (normalised): at its registration, or from the waitlist; told where it is written. */
  attendeeRegistered?(work: Work, registered: { webinar: { id: string; title: string }; email: string }): Promise<void>
  /** Deliveries that somebody waits for have ended; told in the transaction that records it. */
  deliveriesEnded?(work: Work, ended: readonly EndedDelivery[]): Promise<void>
  /** A normalised address gets no mail any more, or (`unsubscribed`) no marketing; told in the transaction that writes it. */
  addressesSuppressed?(work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void>
  /**
   * The account's deletion has begun: what leaves the house for it ends now; its rows go later. No unit of work of the account
   * begins any more, though some may still be under way. Statements only (`em` knows no account here), and few: no row by row.
   */
  accountClosed?(work: Work): Promise<void>
}

export type SuppressionReason = 'complained' | 'bounced' | 'manual' | 'unsubscribed'

/**
 * Finds what definitions name, by id or name, for features that do not know its owner; throws Problem `missing`. A kind that no
 * feature owns is not here: its names stay as they are written.
 */
export type Sources = {
  readonly [kind in 'project' | 'form' | 'webinar' | 'course']?: (work: Work, ref: string) => Promise<{ id: string }>
}

/** Mail that is rendered of a project, as the messages know it. */
export interface Projects {
  /** The account's project in its newest version; null where it has none of that id. */
  loadProject(work: Work, id: string): Promise<{ id: string; name: string; version: number } | null>
  /** The mail of a version for one recipient. `links.unsubscribe`: its visible link, in marketing mail. */
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
 * What lifecycle mails are about, by the features that have them: each finds one of the account by its id. Throws Problem
 * `missing`.
 */
export type Bindable = Readonly<
  Record<'course' | 'webinar', (work: Work, id: string) => Promise<{ id: string; title: string }>>
>

/** A part of all that is held about an address: what one feature keeps of it (`svc contacts export --email`). */
export interface HeldPart {
  /** The part's property in the export. */
  name: string
  /** Erasing the address leaves it, for a reason of the feature's. */
  staysAtErasure?: boolean
  /** The rows about a normalised address, as they are shown: times in epoch ms. */
  read(reader: Pick<Work, 'sql' | 'accountId'>, email: string): Promise<readonly object[]>
}

/** The end of a delivery that somebody waits for. */
export interface EndedDelivery {
  id: string
  status: 'delivered' | 'exhausted' | 'cancelled'
  /** How often it was tried. */
  attempts: number
  lastStatus: number | null
  lastError: string | null
}

/** An event as it is delivered: the envelope of api.md section 6. */
export interface EmittedEvent {
  id: string
  type: string
  /** epoch ms */
  createdAt: number
  data: unknown
}

/** Tells the operator of a fault of ours, and what it is about by its ids: no secrets, no addresses. */
export type Report = (fault: unknown, about: Record<string, unknown>) => void

/** What stands around the units of work: the pool, the sockets and the clock. Only operations that need a socket take it. */
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
    /** 0: for ever. */
    messageRetentionDays: number
    /** 0: for ever. */
    responseRetentionDays: number
    /** Where Stripe's API is; null: where Stripe says. */
    stripeApiUrl: string | null
    /** CIDR blocks of proxies that may say whose address a request comes from. */
    trustProxy: readonly string[]
    /** Who brings it may read /metrics from anywhere; null: nobody. */
    metricsToken: string | null
  }
  readonly database: Database
  /** Outside any transaction. */
  readonly sql: Sql
  readonly box: SecretBox
  readonly resolver: Resolver
  readonly http: HttpClient
  readonly smtp: SmtpClient
  readonly tokens: Tokens
  /** What this process has done, with all of its threads. */
  readonly tallies: Tallies
  /** null where no feature renders projects: there are none then. */
  readonly projects: Projects | null
  readonly bindable: Bindable
  /** What the features hold about addresses. */
  readonly heldAbout: readonly HeldPart[]
  readonly report: Report
  /** A job's thread reports that its worker has completed a heartbeat or a poll; elsewhere it does nothing. */
  beat(): void
  /** Has `end` run before the app closes: what works in the background ends its work while there is a database. */
  onClose(end: () => Promise<void>): void
  /** The database's time, which all processes share: for what is written, due and compared. */
  now(): Date
  /** This process's own clock, moved by a development database's offset as `now` is: for signatures, which others hold against theirs. */
  systemNow(): Date
  /** Has `now` follow a development database's clock at once, where a notice told that it has moved. */
  lookAtClock(): Promise<void>
  /** Throws Problem `missing` where there is no such account, or it is being deleted. */
  work<T>(accountId: string, actor: string, run: (work: Work) => Promise<T>): Promise<T>
  /** A unit of work that belongs to no account: accounts, plans, and what jobs do across accounts. */
  operate<T>(actor: string, run: (operation: Operation) => Promise<T>): Promise<T>
  close(): Promise<void>
}

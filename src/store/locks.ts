/*
 * Every advisory lock of the product. PostgreSQL has two key spaces, one of a single int8 and one of two int4, and each
 * database has its own set of both. Two users that share a key by mistake block each other, or each believes that the other
 * is at work: so no other file names a key, and a test compares them.
 */

/** Locks that exist once in a database: one int8 key. */
export const singleLocks = {
  /** Held by a process that migrates or drops the schema. */
  migration: 7_318_201,
  /** Held by the daemon that does this minute's housekeeping. */
  housekeeping: 7_318_202,
  /** Shared by the processes that use the embedded server: the last one to leave stops it. */
  embeddedUsers: 7_566_947,
} as const

/** Locks of one kind with a key each: the first of two int4 keys. */
export const lockClasses = {
  /** A worker, by its id: held as long as its session lives. */
  worker: 7_318_203,
  /** An account's mailbox, by the hash of the account id: held while it is read. */
  mailbox: 7_318_204,
  /** A `svc listen`, by the hash of its URL: held as long as it listens. */
  listener: 7_318_205,
} as const

/** Locks of a text, which is hashed to an int8 key: what the text begins with, one beginning for each kind. */
export const textLocks = {
  /** The account, by its id. The function `account_lives` in the migrations takes the same key. */
  account: '',
  /** Held while a portal slug is claimed, in any account. */
  slugs: 'slugs',
  /** An account's board: its stages and deals. */
  board: 'board ',
  /** The ticket of an account's writers of new contacts: near the plan's limit, and after conflicts. */
  room: 'contacts of ',
  /** An address of an account whose bounces are being counted. */
  recipient: 'recipient ',
  projects: 'projects:',
  forms: 'forms:',
  journeys: 'journeys:',
  /** A journey's run, by account and id: held by the unit of work that walks it. */
  run: 'run ',
} as const

/** SQL of the key of a text lock; `text` is SQL of what identifies it among its kind. */
export const lockKey = (kind: keyof typeof textLocks, text = `''`): string =>
  `hashtextextended('${textLocks[kind]}' || ${text}, 0)`

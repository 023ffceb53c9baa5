/*
 * Every advisory lock of the product. Each database has two key spaces: one of a single int8, one of two int4. Two purposes that
 * share a key by mistake would block each other, so all keys are defined here and a test compares them.
 */

/** Locks that exist once per database: an int8 key each. */
export const singleLocks = {
  /** Held by a process that migrates or drops the schema. */
  migration: 7_318_201,
  /** Held by the daemon that runs the housekeeping of the current minute. */
  housekeeping: 7_318_202,
  /** Shared by the processes that use the embedded server: the last one to exit stops it. */
  embeddedUsers: 7_566_947,
} as const

/** Locks with two int4 keys: the first one, which names the kind. */
export const lockClasses = {
  /** A worker, by its id: held while its session lasts. */
  worker: 7_318_203,
  /** An account's mailbox, by the hash of the account id: held while the mailbox is read. */
  mailbox: 7_318_204,
  /** A `svc listen`, by the hash of its URL: held while it listens. */
  listener: 7_318_205,
  /** An import, by the hash of its id: held while a process runs it. */
  importer: 7_318_206,
} as const

/** Locks whose int8 key is the hash of a text: the prefix of that text, one per kind. */
export const textLocks = {
  /** The account, by its id. The function `account_works` in the migrations takes the same key. */
  account: '',
  /** Held while any account claims a portal slug. */
  slugs: 'slugs',
  /** An account's board: its stages and deals. */
  board: 'board ',
  /** Serialises an account's writers of new contacts near the plan's limit and after conflicts. */
  contactCapacity: 'contacts of ',
  /** An address of an account: held while its soft bounces are counted, and while its choices are saved. */
  recipient: 'recipient ',
  /** An address of an account: exclusive while it is erased, shared by what writes an address that it read before. */
  erasure: 'erasure ',
  /** The times of a booking block, in all versions of its project: held by each booking and move. */
  calendar: 'calendar ',
  /** An account's results of email: exclusive while changes are added up, shared while a person's are corrected. */
  results: 'results ',
  /** A person in an account's results, by account and address: held while the person's results are corrected. */
  resultsOfPerson: 'person ',
  /** The names of an account's lists: held while one is added or changed. */
  lists: 'lists:',
  projects: 'projects:',
  forms: 'forms:',
  journeys: 'journeys:',
  /** A journey's run, by account and id: held by the unit of work that advances it. */
  run: 'run ',
} as const

/** Returns SQL for the key of a text lock. `text` is a SQL expression that identifies the lock within its kind. */
export const lockKey = (kind: keyof typeof textLocks, text = `''`): string =>
  `hashtextextended('${textLocks[kind]}' || ${text}, 0)`

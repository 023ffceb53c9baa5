import { type EntityManager, MikroORM, type Options } from '@mikro-orm/postgresql'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import type { Client } from './database.ts'

/** MikroORM of a process. Discovering all entities would take as long as loading it, so each feature's are discovered at first use. */
export interface Orm {
  /** Makes the entities that a module exports known. Nothing happens if they are. */
  discover(module: object): void
  /**
   * Returns an EntityManager in the transaction that is open on `client`, filtered to `accountId`. If that is null, reads of tenant
   * tables throw.
   */
  manager(client: Client, accountId: string | null): EntityManager
}

/** Returns a Kysely over one checked-out connection, which the caller releases. The casts: Kysely uses only these members. */
const pinned = (client: Client) => {
  const borrowed = { query: client.query.bind(client), release: () => {} } as unknown as PostgresPoolClient
  const pool = { connect: async () => borrowed, end: async () => {}, options: {} } as unknown as PostgresPool
  return new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
}

/**
 * Opens MikroORM without a pool of its own: each EntityManager works on the connection, and so in the transaction, of its unit of
 * work.
 */
export const openOrm = (url: string): Orm => {
  const options: Options = {
    entities: [],
    ensureDatabase: false,
    // If on, every find joins the filtered relations, and a locking find locks the joined rows too, which causes deadlocks.
    autoJoinRefsForFilters: false,
    discovery: { warnWhenNoEntities: false, checkDuplicateTableNames: true },
    logger: () => {},
    clientUrl: url,
  }
  // `MikroORM.init` would also look for extensions, and so load the migrator and what it searches files with.
  const orm = new MikroORM(options)
  const known = new WeakSet<object>()
  return {
    discover(module) {
      if (known.has(module)) return
      orm.discoverEntity(Object.values(module))
      known.add(module)
    },
    manager(client, accountId) {
      const em = orm.em.fork()
      em.setTransactionContext(pinned(client) as never)
      if (accountId) em.setFilterParams('tenant', { accountId })
      return em
    },
  }
}

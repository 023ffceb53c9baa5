import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM, type Options } from '@mikro-orm/postgresql'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import type { Client } from './database.ts'

/** The settings that the product and the tests share. */
const settings = (entities: NonNullable<Options['entities']>): Options => ({
  entities,
  extensions: [Migrator],
  ensureDatabase: false,
  // If on, every find joins the filtered relations, and a locking find locks the joined rows too, which causes deadlocks.
  autoJoinRefsForFilters: false,
  discovery: { warnWhenNoEntities: false, checkDuplicateTableNames: true },
  logger: () => {},
})

/**
 * Opens MikroORM without a pool of its own: each EntityManager works on the connection, and so in the transaction, of its unit of
 * work.
 */
export const openOrm = async (entities: NonNullable<Options['entities']>, url: string): Promise<MikroORM> =>
  MikroORM.init({ ...settings(entities), clientUrl: url, connect: false } as Options) as unknown as MikroORM

/** Returns a Kysely over one checked-out connection, which the caller releases. The casts: Kysely uses only these members. */
const pinned = (client: Client) => {
  const borrowed = { query: client.query.bind(client), release: () => {} } as unknown as PostgresPoolClient
  const pool = { connect: async () => borrowed, end: async () => {}, options: {} } as unknown as PostgresPool
  return new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
}

/** Returns an EntityManager in the transaction that is open on `client`, filtered to `accountId` (null: tenant tables fail closed). */
export const entityManager = (orm: MikroORM, client: Client, accountId: string | null): EntityManager => {
  const em = orm.em.fork() as unknown as EntityManager
  em.setTransactionContext(pinned(client) as never)
  if (accountId) em.setFilterParams('tenant', { accountId })
  return em
}

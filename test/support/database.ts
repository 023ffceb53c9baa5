import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { lockKey } from '../../src/lib/locks.ts'
import type { Database, Sql } from '../../src/store/database.ts'
import { eventually } from './eventually.ts'
import { urlOf } from './server.ts'

let made = 0

let session: Promise<pg.Client> | undefined

/** The session lasts as long as the worker: a new one for each statement takes 5 ms of CPU time. */
const openSession = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  client.on('error', () => {})
  client.once('end', () => {
    session = undefined
  })
  await client.connect()
  // Its types lack the method.
  ;(client as pg.Client & { unref(): void }).unref()
  return client
}

/** Executes a statement on the server of the tests, outside of every test's database. */
export const onServer = async (statement: string): Promise<pg.QueryResult> => {
  session ??= openSession()
  return (await session).query(statement)
}

/** Creates a separate database, cloned from the migrated template. */
export const cloneDatabase = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  // With the pid of the run, as the template.
  const name = `${inject('template').replace('template', 'test')}_${process.pid}_${++made}`
  // PostgreSQL refuses to clone the template while another connection to it exists, even briefly: retry.
  await eventually(async () => {
    try {
      await onServer(`create database ${name} template ${inject('template')} strategy file_copy`)
      return true
    } catch (error) {
      if ((error as { code?: string }).code !== '55006') throw error
      return false
    }
  })
  return {
    url: urlOf(inject('serverUrl'), name),
    drop: async () => void (await onServer(`drop database if exists ${name} with (force)`)),
  }
}

/** Waits until at least `statements` statements in the database wait for locks. */
export const untilLocked = ({ sql }: Pick<Database, 'sql'>, statements: number): Promise<true> =>
  eventually(async () => {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await sql(waiting)).length >= statements
  })

/** Connections of a pool by default. */
const poolSize = 10

/**
 * Makes each session of the pool report its statistics. By itself a session does so at the first statement after a second, or
 * when it was idle for 10 s; other processes do so when they close their connections.
 */
export const reportStatistics = async ({ transaction }: Pick<Database, 'transaction'>): Promise<void> => {
  const all = Promise.withResolvers<void>()
  let begun = 0
  await Promise.all(
    Array.from({ length: poolSize }, () =>
      transaction(async (sql) => {
        await sql('select pg_stat_force_next_flush()')
        // The transactions last until each has a session of its own.
        if (++begun === poolSize) all.resolve()
        await all.promise
      }),
    ),
  )
}

/** Returns PostgreSQL's own counts of deadlocks and rollbacks in the database, those of the pool's last statement included. */
export const countsOf = async (database: Pick<Database, 'sql' | 'transaction'>) => {
  await reportStatistics(database)
  const [row] = await database.sql<{ deadlocks: number; rollbacks: number }>(
    'select deadlocks, xact_rollback as rollbacks from pg_stat_database where datname = current_database()',
  )
  return row!
}

/** Locks the ticket of an account's queued writers of new contacts (contacts/write/contention.ts). */
export const holdContactsTicket = async (database: Database, accountId: string) => {
  const session = await database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query(`select pg_advisory_xact_lock(${lockKey('contactCapacity', '$1')})`, [accountId])
  return { release: () => session.query('rollback') }
}

/** The text of a query, whether it is a string or a declared statement. */
export const textOf = (query: Parameters<Sql>[0]): string => (typeof query === 'string' ? query : query.text)

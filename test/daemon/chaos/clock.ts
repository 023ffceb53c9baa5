import type { Sql } from '../../../src/store/database.ts'

/*
 * Steps the server's clock without changing the machine's: functions of the same names precede those of pg_catalog in
 * the database's search path and add an offset. The product reads the server's time only with these two functions. (With
 * libfaketime, PostgreSQL's own timers fire late by the offset: it does not shift the time inside signal handlers.)
 */

/** Prepares a database that is still empty: what the migrations create refers to these functions. */
export const prepareClock = async (sql: Sql, database: string): Promise<void> => {
  await sql('create schema chaos')
  await sql(`create table chaos.clock as select interval '0' as step`)
  for (const name of ['clock_timestamp', 'statement_timestamp'])
    await sql(`create function chaos.${name}() returns timestamptz language sql as
      'select pg_catalog.${name}() + step from chaos.clock'`)
  await sql(`alter database ${database} set search_path = public, chaos, pg_catalog`)
}

/** Sets the server's clock to this many seconds ahead of the true time. */
export const stepClock = async (sql: Sql, seconds: number): Promise<void> => {
  await sql(`update chaos.clock set step = $1 * interval '1 second'`, [seconds])
}

import type { TestApp } from './app.ts'

/**
 * Makes the database clock jump for connections that are opened after `install`: a function of the same name precedes
 * PostgreSQL's own on their search path.
 */
export const databaseClock = ({ app }: TestApp) => ({
  async install(): Promise<void> {
    await app.sql('create schema jump')
    await app.sql(`create table jump.ahead (by interval not null)`)
    await app.sql(`insert into jump.ahead values ('0')`)
    await app.sql(
      `create function jump.clock_timestamp() returns timestamptz language sql volatile as
       $$ select pg_catalog.clock_timestamp() + (select by from jump.ahead) $$`,
    )
    const [row] = await app.sql<{ name: string }>('select current_database() as name')
    await app.sql(`alter database ${row!.name} set search_path = public, jump, pg_catalog`)
  },
  async jump(seconds: number): Promise<void> {
    await app.sql(`update jump.ahead set by = by + $1 * interval '1 second'`, [seconds])
  },
})

import type { OpenApp } from '../../src/app/app.ts'
import { isBusy } from '../../src/store/database.ts'
import { eventually } from './eventually.ts'
import { atEnd } from './scope.ts'

interface Conditions {
  /** A condition on `new` and `old`. */
  when?: string
  /** The number of rows that pass before. */
  after?: number
}

let holds = 0

/**
 * Stops every session that makes the change (such as `update on messages`) to a row that meets the conditions, so that a test can
 * kill what is in the middle of it. `end`, at the latest the end of the test, terminates the stopped sessions and lifts the hold.
 */
export const holdUp = async (
  { app }: { app: OpenApp },
  change: string,
  { when = 'true', after = 0 }: Conditions = {},
): Promise<{ reached(): Promise<unknown>; end(): Promise<void> }> => {
  const name = `hold_up_${++holds}`
  await app.sql(`create sequence ${name}`)
  await app.sql(`create function ${name}() returns trigger language plpgsql as $$ begin
    if nextval('${name}') > ${after} then
      perform set_config('application_name', '${name}', true);
      perform pg_sleep(3600);
    end if;
    return new; end $$`)
  await app.sql(`create trigger ${name} before ${change} for each row when (${when}) execute function ${name}()`)
  const stopped = () =>
    app.sql<{ pid: number }>(
      'select pid from pg_stat_activity where datname = current_database() and application_name = $1',
      [name],
    )
  let isHeld = true
  const end = async () => {
    if (!isHeld) return
    isHeld = false
    const pids = (await stopped()).map(({ pid }) => pid)
    await app.sql('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [pids])
    // It waits for what uses the table, longer than a statement may wait for a lock.
    await eventually(() =>
      app.sql(`drop function ${name} cascade`).then(
        () => true,
        (error) => {
          if (!isBusy(error)) throw error
          return false
        },
      ),
    )
    await app.sql(`drop sequence ${name}`)
  }
  atEnd(end)
  return { reached: () => eventually(async () => (await stopped()).length > 0), end }
}

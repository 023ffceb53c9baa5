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

interface Hold {
  /** Resolves once a session is stopped. */
  reached(): Promise<unknown>
  /** Terminates the stopped sessions, and lifts the hold. */
  end(): Promise<void>
  /** Lets the stopped sessions go on, and lifts the hold. */
  release(): Promise<void>
}

/**
 * Stops every session that makes the change (such as `update on messages`) to a row that meets the conditions, so that a test can
 * kill or signal what is in the middle of it. The hold ends with the test at the latest.
 */
export const holdUp = async (
  { app }: { app: OpenApp },
  change: string,
  { when = 'true', after = 0 }: Conditions = {},
): Promise<Hold> => {
  const name = `hold_up_${++holds}`
  const released = `${name}_released`
  // Sessions see the value of a sequence at once, in the middle of their transactions too.
  for (const sequence of [name, released]) await app.sql(`create sequence ${sequence}`)
  await app.sql(`create function ${name}() returns trigger language plpgsql as $$ begin
    if nextval('${name}') > ${after} then
      perform set_config('application_name', '${name}', true);
      while not (select is_called from ${released}) loop perform pg_sleep(0.1); end loop;
    end if;
    return coalesce(new, old); end $$`)
  await app.sql(`create trigger ${name} before ${change} for each row when (${when}) execute function ${name}()`)
  const stopped = () =>
    app.sql<{ pid: number }>(
      'select pid from pg_stat_activity where datname = current_database() and application_name = $1',
      [name],
    )
  let isHeld = true
  const lift = async (free: () => Promise<unknown>) => {
    if (!isHeld) return
    isHeld = false
    await free()
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
    await app.sql(`drop sequence ${name}, ${released}`)
  }
  const terminate = async () => {
    const pids = (await stopped()).map(({ pid }) => pid)
    await app.sql('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [pids])
    // A transaction that is tried again may come here before the trigger is gone.
    await app.sql(`select nextval('${released}')`)
  }
  const end = () => lift(terminate)
  atEnd(end)
  return {
    reached: () => eventually(async () => (await stopped()).length > 0),
    end,
    release: () => lift(() => app.sql(`select nextval('${released}')`)),
  }
}

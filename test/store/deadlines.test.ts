import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { type Database, isUnavailable, openDatabase } from '../../src/store/database.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { openProxy } from '../support/proxy.ts'

// The tests mostly wait, so they run at the same time: each has its own proxy and its own rows and locks.

let own: Awaited<ReturnType<typeof cloneDatabase>>
/** Connects to the server without a proxy. */
let direct: Database

/** Opens a proxy of its own for a test. `open` connects through it. */
const setUp = async ({ onTestFinished }: TestContext) => {
  const proxy = await openProxy(own.url)
  const opened: Database[] = []
  onTestFinished(async () => {
    proxy.pass()
    await Promise.all(opened.map((database) => database.close()))
    await proxy.close()
  })
  const open = (options: Parameters<typeof openDatabase>[1] = {}): Database => {
    const database = openDatabase(proxy.through(own.url), options)
    opened.push(database)
    return database
  }
  return { proxy, open }
}

beforeAll(async () => {
  own = await cloneDatabase()
  direct = openDatabase(own.url)
  await direct.sql('create table things (id int primary key)')
  // A commit of a row in slow_things waits for a lock.
  await direct.sql(`
    create table slow_things (id int primary key);
    create function pause() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(4713); return null; end';
    create constraint trigger pause after insert on slow_things deferrable initially deferred
      for each row execute function pause()`)
})
afterAll(async () => {
  await direct?.close()
  await own?.drop()
})

const timed = async (run: () => Promise<unknown>) => {
  const start = performance.now()
  const error = await run().then(
    () => null,
    (fault) => fault,
  )
  return { error, ms: performance.now() - start }
}
const unlocked = async (key: number): Promise<boolean> => {
  const [row] = await direct.sql<{ free: boolean }>(
    'select not exists (select from pg_locks where locktype = $$advisory$$ and objid = $1) as free',
    [key],
  )
  return row!.free
}
const isSleeping = (seconds: number) =>
  eventually(async () => {
    const query = `select pg_sleep(${seconds})`
    return (await direct.sql(`select from pg_stat_activity where query = $1 and wait_event = 'PgSleep'`, [query]))
      .length
  })

/** Waits until a statement waits for an advisory lock. */
const isWaiting = (key: number) =>
  eventually(async () => {
    const waiting = 'select from pg_locks where locktype = $$advisory$$ and objid = $1 and not granted'
    return (await direct.sql(waiting, [key])).length
  })
/** Opens connections of a pool, by transactions that last until each has one. */
const occupy = async (transaction: Database['transaction'], connections: number): Promise<void> => {
  const all = Promise.withResolvers<void>()
  let begun = 0
  const one = () =>
    transaction(async () => {
      if (++begun === connections) all.resolve()
      await all.promise
    })
  await Promise.all(Array.from({ length: connections }, one))
}

describe.concurrent('a pool whose calls have a deadline', () => {
  const deadlineMs = 9_500

  test('a statement on a connection that goes silent fails as unavailable within 10 s, and the next call works', async (context) => {
    const { open, proxy } = await setUp(context)
    const { sql } = open({ deadlineMs })
    await sql('select 1')
    const sleeping = timed(() => sql('select pg_sleep(60)'))
    await isSleeping(60)
    proxy.silence()
    expect(await settlesWithin(sleeping, 10_500)).toBe(true)
    const { error, ms } = await sleeping
    expect(isUnavailable(error)).toBe(true)
    expect(ms).toBeGreaterThan(8_000)
    expect(await sql('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('a transaction on a connection that goes silent fails as unavailable within 10 s, and the server frees its locks', async (context) => {
    const { open, proxy } = await setUp(context)
    const { transaction, sql } = open({ deadlineMs })
    await sql('insert into things values (1)')
    const failing = timed(() =>
      transaction(async (inside) => {
        await inside('update things set id = 1 where id = 1')
        proxy.silence()
        await inside('select 1')
      }),
    )
    expect(await settlesWithin(failing, 10_500)).toBe(true)
    expect(isUnavailable((await failing).error)).toBe(true)
    await eventually(async () => (await direct.sql('select from things where id = 1 for update skip locked')).length)
  })

  test('idle connections that went silent are replaced before a call gets one', async (context) => {
    const { open, proxy } = await setUp(context)
    const { sql, transaction } = open({ deadlineMs })
    await occupy(transaction, 10)
    // A connection that was used within a second is taken without a probe.
    await sleep(1_200)
    expect(proxy.silence()).toBe(10)
    const first = timed(() => sql('insert into things values (2)'))
    expect(await settlesWithin(first, 5_000)).toBe(true)
    expect((await first).error).toBe(null)
    // The probes are over: none delays the next call.
    const second = await timed(() => sql('select 1'))
    expect(second.ms).toBeLessThan((await first).ms)
  })

  test('a call fails as unavailable within 10 s if no connection gets an answer', async (context) => {
    const { open, proxy } = await setUp(context)
    const { sql } = open({ deadlineMs, max: 2 })
    await sql('select 1')
    proxy.silence()
    proxy.hold()
    const calls = Promise.all(Array.from({ length: 6 }, () => timed(() => sql('select 1'))))
    expect(await settlesWithin(calls, 10_500)).toBe(true)
    expect((await calls).filter(({ error }) => !isUnavailable(error))).toEqual([])
  })

  test('several waits for the lock of another session do not add up past the deadline', async (context) => {
    const { open } = await setUp(context)
    const { transaction } = open({ deadlineMs })
    await direct.sql('insert into things values (3), (4)')
    let end = () => {}
    const locked = Promise.withResolvers<void>()
    const holding = direct.transaction(async (sql) => {
      await sql('select from things where id = 3 for update')
      locked.resolve()
      await new Promise<void>((resolve) => {
        end = resolve
      })
    })
    await locked.promise
    const waiting = timed(() =>
      transaction(async (sql) => {
        for (let tries = 0; tries < 4; tries++) {
          await sql('savepoint before')
          await sql('select from things where id = 3 for update').catch(() => sql('rollback to before'))
        }
      }),
    )
    expect(await settlesWithin(waiting, 10_500)).toBe(true)
    end()
    await holding
    expect(isUnavailable((await waiting).error)).toBe(true)
  })
})

describe.concurrent('a pool for long statements', () => {
  test('a statement may run for any time while the server works on it', async (context) => {
    const { open } = await setUp(context)
    const { sql } = open()
    const { error, ms } = await timed(() => sql('select pg_sleep(13)'))
    expect(error).toBe(null)
    expect(ms).toBeGreaterThan(12_900)
  })

  test('a wait for a session lock is not cut off, even if it ends after the watch has asked the server', async (context) => {
    const { open } = await setUp(context)
    const [holder, waiter] = [await direct.connect(), await open().connect()]
    await holder.query('select pg_advisory_lock(4711)')
    const waiting = waiter.query('select pg_advisory_lock(4711)')
    await sleep(12_000)
    await holder.end()
    await waiting
    await waiter.end()
  })

  test('a statement whose answer is lost fails as unavailable within 14 s, and its pool keeps working', async (context) => {
    const { open, proxy } = await setUp(context)
    const { sql } = open({ max: 1 })
    const holder = await direct.connect()
    await holder.query('select pg_advisory_lock(4714)')
    const asking = timed(() => sql('select pg_advisory_lock(4714)'))
    await isWaiting(4714)
    proxy.silence()
    await holder.end()
    expect(await settlesWithin(asking, 14_000)).toBe(true)
    expect(isUnavailable((await asking).error)).toBe(true)
    expect(await sql('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('if all connections went silent while they were idle, one statement fails, and the next one gets a new connection', async (context) => {
    const { open, proxy } = await setUp(context)
    const { transaction, sql } = open({ max: 4 })
    await occupy(transaction, 4)
    expect(proxy.silence()).toBe(4)
    const failing = timed(() => sql('select 1'))
    expect(await settlesWithin(failing, 14_000)).toBe(true)
    expect(isUnavailable((await failing).error)).toBe(true)
    expect(await sql('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('a transaction that loses its connection before the commit runs again', async (context) => {
    const { open, proxy } = await setUp(context)
    const { transaction } = open()
    let runs = 0
    await transaction(async (sql) => {
      runs++
      await sql('insert into things values (10)')
      if (runs === 1) {
        proxy.cut()
        await sql('select 1').catch(() => {})
      }
    })
    expect(runs).toBe(2)
    expect(await direct.sql('select from things where id = 10')).toHaveLength(1)
  })

  test('a transaction whose commit is not answered does not run again', async (context) => {
    const { open, proxy } = await setUp(context)
    const { transaction } = open()
    let runs = 0
    const holder = await direct.connect()
    await holder.query('select pg_advisory_lock(4713)')
    const committing = timed(() =>
      transaction(async (sql) => {
        runs++
        await sql('insert into slow_things values (11)')
      }),
    )
    await isWaiting(4713)
    proxy.cut()
    expect(isUnavailable((await committing).error)).toBe(true)
    expect(runs).toBe(1)
    await holder.end()
    await eventually(async () => (await direct.sql('select from slow_things')).length)
  })
})

describe.concurrent('a dedicated connection', () => {
  test('ends if it goes silent while it is idle, and the server frees its locks', async (context) => {
    const { open, proxy } = await setUp(context)
    const session = await open().connect()
    await session.query('select pg_advisory_lock(4712)')
    const ended = new Promise((resolve) => session.once('end', resolve))
    proxy.silence()
    await ended
    await eventually(() => unlocked(4712))
  })

  test('applies the requested deadline to each statement', async (context) => {
    const { open } = await setUp(context)
    const session = await open().connect({ deadlineMs: 3_000 })
    const sleeping = timed(() => session.query('select pg_sleep(30)'))
    expect(await settlesWithin(sleeping, 4_000)).toBe(true)
    expect(isUnavailable((await sleeping).error)).toBe(true)
  })

  test('stays open while it is idle', async (context) => {
    const { open } = await setUp(context)
    const session = await open().connect({ deadlineMs: 3_000 })
    await sleep(12_000)
    expect((await session.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await session.end()
  })
})

describe.concurrent('closing', () => {
  test('does not wait for a silent server', async (context) => {
    const { proxy } = await setUp(context)
    const database = openDatabase(proxy.through(own.url))
    const session = await database.connect()
    await occupy(database.transaction, 3)
    const working = database.sql('select pg_sleep(61)').catch((error) => error)
    await isSleeping(61)
    proxy.silence()
    expect(await settlesWithin(Promise.all([session.end(), database.close()]), 2_500)).toBe(true)
    expect(isUnavailable(await working)).toBe(true)
  })
})

import type { EntityManager } from '@mikro-orm/postgresql'
import type { Counters } from '../lib/counters.ts'
import { guardStatement } from '../store/account-guard.ts'
import type { Client, Database, Sql } from '../store/database.ts'
import type { Orm } from '../store/orm.ts'
import type { App, Operation } from '../store/work.ts'
import { createStates } from '../store/work-state.ts'
import { loadFilterParts, sources } from './features.ts'

interface UnitOptions {
  database: Database
  /** Returns the current URL of the database, for MikroORM. */
  databaseUrl(): string
  now(): Date
  listeners: Operation['listeners']
  counters: Counters
  /** Awaited before each unit of work. */
  beforeWork?: (() => Promise<unknown>) | undefined
}

/** Has `run` run after the commit of the current try. */
type AfterCommit = (run: () => void) => void

/** Runs a transaction, then what its last try has left for after the commit. */
const withEffects = async <T>(transact: (begin: () => AfterCommit) => Promise<T>): Promise<T> => {
  let effects: (() => void)[] = []
  const result = await transact(() => {
    const own: typeof effects = []
    effects = own
    return (run) => void own.push(run)
  })
  for (const run of effects) run()
  return result
}

interface Parts extends Pick<Operation, 'count' | 'announce'> {
  sql: Sql
  client: Client
  orm(): Promise<Orm>
  actor: string
  now: Date
  accountId?: string
  listeners: Operation['listeners']
}

interface Unit extends Operation {
  /** Returns the result after the deferred statements (`last`) have run. */
  ended<T>(result: Promise<T>): Promise<T>
}

/** Creates an operation. `em` is created at its first use: a fork and its Kysely cost more than some whole operations. */
const operation = ({ sql, client, orm, actor, now, count, announce, accountId, listeners }: Parts): Unit => {
  let manager: Promise<EntityManager> | undefined
  const endings: (() => Promise<void>)[] = []
  return {
    sql,
    actor,
    now,
    count,
    announce,
    listeners,
    filterParts: loadFilterParts,
    sources,
    async em(entities) {
      const [{ discover }, module] = await Promise.all([orm(), entities])
      discover(module)
      manager ??= orm().then((opened) => opened.manager(client, accountId ?? null))
      return [await manager, module]
    },
    last: (run) => void endings.push(run),
    async ended(result) {
      const value = await result
      for (const run of endings) await run()
      return value
    },
  }
}

/** Returns what opens units of work: of an account (`work`), and of the whole installation (`operate`). */
export const createUnits = ({
  database,
  databaseUrl,
  now,
  listeners,
  counters,
  beforeWork,
}: UnitOptions): Pick<App, 'operate' | 'work'> => {
  let loading: Promise<Orm> | undefined
  const orm = () => {
    loading ??= import('../store/orm.ts').then(({ openOrm }) => openOrm(databaseUrl()))
    return loading
  }
  const effects = (afterCommit: AfterCommit): Pick<Operation, 'count' | 'announce'> => ({
    count: (...of) => afterCommit(() => counters.count(...of)),
    announce: (...of) => afterCommit(() => database.notices.announce(...of)),
  })
  return {
    async operate(actor, run) {
      await beforeWork?.()
      return withEffects((begin) =>
        database.transaction((sql, client) => {
          const { ended, ...unit } = operation({ sql, client, orm, actor, now: now(), listeners, ...effects(begin()) })
          return ended(run(unit))
        }),
      )
    },
    async work(accountId, actor, run) {
      await beforeWork?.()
      return withEffects((begin) =>
        database.transaction(async (sql, client, opening) => {
          if (!(opening as { lives: boolean }).lives)
            return (await import('../accounts/accounts.ts')).refuseWork(sql, accountId)
          const parts = { sql, client, orm, actor, now: now(), accountId, listeners, ...effects(begin()) }
          const { ended, ...unit } = operation(parts)
          return ended(run({ ...unit, accountId, state: createStates() }))
        }, guardStatement(accountId)),
      )
    },
  }
}

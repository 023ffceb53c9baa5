import { joinTarget } from '../deliveries/deliveries.ts'
import { lockClasses } from '../lib/locks.ts'
import { sqlOn } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { deleteWebhook } from './webhooks.ts'

/*
 * A listener is alive while a session holds the advisory lock of its URL, which is unique: it contains port and token. The lock is
 * taken before the subscription is created, so that another listener never takes the subscription for orphaned.
 */
const lockOf = `${lockClasses.listener}, hashtext(:url)`

const lockListener = statement(
  'lock-listener',
  { row: { pg_advisory_lock: 'void' }, parameters: { url: 'text' } },
  `select pg_advisory_lock(${lockOf})`,
)

const tryListenerLock = statement(
  'try-listener-lock',
  { row: { isLocked: 'bool' }, parameters: { url: 'text' } },
  `select pg_try_advisory_lock(${lockOf}) as "isLocked"`,
)

const unlockListener = statement(
  'unlock-listener',
  { row: { pg_advisory_unlock: 'bool' }, parameters: { url: 'text' } },
  `select pg_advisory_unlock(${lockOf})`,
)

export interface ListenerLock {
  /** Takes the lock if this session does not have it, also after a lost connection. Rejects while the database is unavailable. */
  hold(): Promise<void>
  /** Calls `run` while it holds the lock of another `url`. Returns false if another session has that lock. */
  whileFree(url: string, run: () => Promise<void>): Promise<boolean>
  release(): Promise<void>
}

/** Returns the lock of one listener, which uses its own connection. */
export const openListenerLock = (database: App['database'], url: string): ListenerLock => {
  let client: Awaited<ReturnType<typeof database.connect>> | null = null
  const connected = async () => {
    if (client) return client
    const opened = await database.connect()
    opened.once('end', () => {
      client = null
    })
    await sqlOn(opened)(lockListener, { url })
    client = opened
    return opened
  }
  return {
    async hold() {
      await (await connected()).query('select')
    },
    async whileFree(other, run) {
      const sql = sqlOn(await connected())
      if (!(await sql(tryListenerLock, { url: other }))[0]!.isLocked) return false
      await run().finally(() => sql(unlockListener, { url: other }))
      return true
    },
    release: async () => {
      await client?.end().catch(() => {})
    },
  }
}

const findTemporary = statement(
  'find-temporary-subscriptions',
  { row: { id: 'text', url: 'text' }, parameters: { accountId: 'text' } },
  `select w.id, t.url from webhooks w ${joinTarget('w')} where w.account_id = :accountId and w.temporary order by w.id`,
)

/** Removes the account's temporary subscriptions whose listeners were killed. */
export const removeOrphanedSubscriptions = async (
  app: App,
  accountId: string,
  actor: string,
  lock: ListenerLock,
): Promise<void> => {
  for (const { id, url } of await app.sql(findTemporary, { accountId })) {
    await lock.whileFree(url, () => removeSubscription(app, accountId, actor, id))
  }
}

const lockSubscription = statement(
  'lock-subscription',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from webhooks where account_id = :accountId and id = :id for update',
)

/** Removes a subscription, if it still exists, with its pending deliveries. */
export const removeSubscription = async (app: App, accountId: string, actor: string, id: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    const [row] = await work.sql(lockSubscription, { accountId, id })
    if (row) await deleteWebhook(work, id)
  })

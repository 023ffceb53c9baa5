import { lockClasses } from '../store/locks.ts'
import type { App } from '../store/work.ts'
import { deleteWebhook } from './webhooks.ts'

/*
 * A listener is alive as long as a session holds the advisory lock of its URL, which nobody else has: its port and token
 * are in it. The lock is taken before the subscription is made, so that no other listener ever sees it as left behind.
 */
const lockOf = `${lockClasses.listener}, hashtext($1)`

export interface Claim {
  /** Takes the lock, again where its connection was lost. Rejects while the database is away. */
  hold(): Promise<void>
  /** Runs on the connection of the lock: false where the lock of `url` is another's. */
  whileFree(url: string, run: () => Promise<void>): Promise<boolean>
  release(): Promise<void>
}

/** The lock of one listener, on a connection of its own. */
export const openClaim = (database: App['database'], url: string): Claim => {
  let client: Awaited<ReturnType<typeof database.connect>> | null = null
  const connected = async () => {
    if (client) return client
    const opened = await database.connect()
    opened.once('end', () => {
      client = null
    })
    await opened.query(`select pg_advisory_lock(${lockOf})`, [url])
    client = opened
    return opened
  }
  return {
    async hold() {
      await (await connected()).query('select')
    },
    async whileFree(other, run) {
      const session = await connected()
      const { rows } = await session.query(`select pg_try_advisory_lock(${lockOf}) as taken`, [other])
      if (!rows[0].taken) return false
      await run().finally(() => session.query(`select pg_advisory_unlock(${lockOf})`, [other]))
      return true
    },
    release: async () => {
      await client?.end().catch(() => {})
    },
  }
}

/** Removes the account's temporary subscriptions whose listeners were killed; those of living ones stay. */
export const removeLeftovers = async (app: App, accountId: string, actor: string, claim: Claim): Promise<void> => {
  const found = await app.sql<{ id: string; url: string }>(
    `select w.id, t.url from webhooks w join delivery_targets t on t.account_id = w.account_id and t.id = w.id
     where w.account_id = $1 and w.temporary order by w.id`,
    [accountId],
  )
  for (const { id, url } of found) {
    await claim.whileFree(url, () => removeSubscription(app, accountId, actor, id))
  }
}

/** Removes a subscription, which may be gone already, with its pending deliveries. */
export const removeSubscription = async (app: App, accountId: string, actor: string, id: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    const [row] = await work.sql('select from webhooks where account_id = $1 and id = $2 for update', [accountId, id])
    if (row) await deleteWebhook(work, id)
  })

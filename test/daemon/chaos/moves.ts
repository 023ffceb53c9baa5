import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccount, createKey } from '../../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { createList } from '../../../src/contacts/contacts.ts'
import { upsertBatch } from '../../../src/contacts/write/upsert.ts'
import { createWebhook } from '../../../src/webhooks/webhooks.ts'
import { startSvc } from '../../support/cli.ts'
import { urlOf } from '../../support/server.ts'
import type { Found } from './checks.ts'
import type { Scene } from './faults.ts'

/*
 * An account of another installation, which has no daemon: its deliveries wait. Each move brings it with new ones to the daemons of
 * this run, and back. Its commands are killed and repeated.
 */

/** An installation on the same server, and its account. */
export interface Away {
  app: OpenApp
  env: Record<string, string>
  accountId: string
  key: string
  listId: string
  /** The number of its contacts, each with one event. */
  contacts: number
  close(): Promise<void>
}

/** A copy of the migrated database of this run. */
export const awayDatabase = 'svc_chaos_away'

const contactsEach = 200
const path = '/moved'

export const openAway = async (
  serverUrl: string,
  common: Record<string, string>,
  receiverUrl: string,
): Promise<Away> => {
  const url = urlOf(serverUrl, awayDatabase)
  const env = { ...common, SVC_SECRET: 'the secret of the other installation', DATABASE_URL: url }
  const app = await openApp(readConfig(env))
  const { id: accountId } = await app.operate('cli:chaos', (operation) =>
    createAccount(operation, { name: 'Mover', plan: 'unlimited' }),
  )
  const { key, listId } = await app.work(accountId, 'cli:chaos', async (work) => ({
    key: (await createKey(work, { name: 'chaos' })).key,
    listId: (await createList(work, { name: 'moved' })).id,
  }))
  await createWebhook(
    app,
    accountId,
    'cli:chaos',
    { url: `${receiverUrl}${path}`, events: ['contact.created'] },
    { createdVia: 'dashboard', trusted: true },
  )
  return { app, env, accountId, key, listId, contacts: 0, close: app.close }
}

/** Runs a command until it has done its work, however often it is killed or the database is away. */
const finish = async (
  { world, random, daemons }: Scene,
  side: 'here' | 'away',
  args: readonly string[],
  isDone: (status: number | null) => boolean,
): Promise<void> => {
  for (;;) {
    const way = random.pick(daemons.all).proxy.through(world.url)
    const env = side === 'away' ? world.away.env : { ...world.env, DATABASE_URL: way }
    const child = startSvc({ env }, args)
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.stdout.resume()
    const kill = random.next() < 0.3 ? setTimeout(() => child.kill('SIGKILL'), random.between(300, 2000)) : undefined
    const [status] = (await once(child, 'close')) as [number | null]
    clearTimeout(kill)
    if (isDone(status)) return
    if (status === 6 && stderr.includes('another version')) {
      for (const daemon of daemons.all.filter(({ version }) => version === 'before')) {
        daemon.version = 'this'
        await daemon.restart('SIGTERM')
      }
    }
    // 7: the database was unavailable; null: killed.
    else if (status !== 7 && status !== null) throw new Error(`svc ${args.join(' ')} ended with ${status}: ${stderr}`)
    await sleep(300)
  }
}

let moves = 0
let turn: Promise<unknown> = Promise.resolve()

const transfer = async (scene: Scene, from: 'here' | 'away', passphrase: string): Promise<void> => {
  const { accountId } = scene.world.away
  const file = join(scene.folder, `move-${++moves}.account`)
  const secret = ['--secret-file', passphrase]
  const to = from === 'here' ? 'away' : 'here'
  // A command that was killed at its end has written the file; the next one refuses to replace it.
  await finish(
    scene,
    from,
    ['accounts', 'export', accountId, '--out', file, ...secret],
    (s) => s === 0 || existsSync(file),
  )
  await finish(scene, to, ['accounts', 'import', file, ...secret], (status) => status === 0)
  // 3: a command that was killed at its end has deleted it.
  await finish(
    scene,
    from,
    ['accounts', 'delete', accountId, '--confirm', 'Mover'],
    (status) => status === 0 || status === 3,
  )
}

/** Adds contacts to the other installation's account, moves it here, and after a while back. */
export const move = (scene: Scene): Promise<string> => {
  const next = turn.then(async () => {
    const { world, random, over, folder } = scene
    if (over.aborted) return 'not done: the run is over'
    const { away } = world
    const from = away.contacts
    const contacts = Array.from({ length: contactsEach }, (_, i) => ({
      email: `m${from + i}@chaos.example`,
      fields: {},
    }))
    // The server may be away at the moment.
    for (;;) {
      const writing = upsertBatch(away.app, away.accountId, 'cli:chaos', { listId: away.listId, contacts })
      if (
        await writing.then(
          () => true,
          () => false,
        )
      )
        break
      await sleep(300)
    }
    away.contacts += contactsEach
    const passphrase = join(folder, 'passphrase')
    await writeFile(passphrase, 'a passphrase that only tests use')
    await transfer(scene, 'away', passphrase)
    await sleep(random.between(500, 4000), undefined, { signal: over }).catch(() => {})
    await transfer(scene, 'here', passphrase)
    return `${away.contacts} contacts, here and back`
  })
  turn = next.catch(() => {})
  return next
}

/** Checks that the moved account is complete on its own side and gone here, and that each of its events has arrived or waits. */
export const checkMoves = async ({ world, sql, violated }: Found): Promise<void> => {
  const { app, accountId, contacts } = world.away
  const [here] = await sql<{ count: number }>('select count(*)::int as count from accounts where id = $1', [accountId])
  if (here!.count > 0) violated('the account that moved away is still here')
  const rows = await app.sql<{ email: string }>('select email from contacts where account_id = $1', [accountId])
  if (rows.length !== contacts) violated(`the account that moved has ${rows.length} of its ${contacts} contacts`)
  const [moved] = await app.sql<{ move: string | null }>('select move from accounts where id = $1', [accountId])
  if (!moved || moved.move !== null) violated(`the account that moved is ${moved?.move ?? 'missing'} on its own side`)
  const events = await app.sql<{ id: string }>('select id from events where account_id = $1', [accountId])
  if (events.length !== contacts) violated(`the account that moved has ${events.length} of its ${contacts} events`)
  const waiting = await app.sql<{ key: string }>('select key from pending_deliveries where account_id = $1', [
    accountId,
  ])
  const posts = world.receiver.requests.filter((request) => request.path === path)
  const known = new Set([
    ...waiting.map(({ key }) => key),
    ...posts.map(({ headers }) => String(headers['x-service-idempotency-key'])),
  ])
  const lost = events.filter(({ id }) => !known.has(id))
  if (lost.length > 0) violated(`${lost.length} events of the account that moved neither arrived nor wait`)
}

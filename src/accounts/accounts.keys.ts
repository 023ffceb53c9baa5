import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { invalid, noSuch } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { hashKey } from './accounts.admission.ts'
import { apiKeys } from './accounts.columns.ts'
import type { ApiKey } from './accounts.entities.ts'
import { type Scope, scopes } from './accounts.scopes.ts'

const NewKey = z.object({
  name: text(200).trim().min(1, 'is required'),
  scopes: z.array(z.enum(scopes)).min(1, 'must name at least one scope').optional(),
  expiresAt: z.int().optional(),
})

/** The latest expiry is this long from now. */
const maxExpiryMs = 3650 * 24 * 3600_000

export interface KeyView {
  id: string
  name: string
  prefix: string
  lastFour: string
  /** The scopes of the calls that it allows. It is null if the key allows all. */
  scopes: string[] | null
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
  /** When it was last used, to the minute. */
  lastUsedAt: number | null
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns `svc_live_` and 32 random bytes in base 62, padded to 43 characters so that all keys have the same length. */
const newKeyText = (): string => {
  let rest = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let digits = ''
  for (; rest > 0n; rest /= 62n) digits = base62[Number(rest % 62n)] + digits
  return `svc_live_${digits.padStart(43, '0')}`
}

type Row = Pick<ApiKey, keyof KeyView>

const view = (key: Row): KeyView => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  lastFour: key.lastFour,
  scopes: key.scopes ?? null,
  createdAt: key.createdAt.getTime(),
  expiresAt: key.expiresAt?.getTime() ?? null,
  revokedAt: key.revokedAt?.getTime() ?? null,
  lastUsedAt: key.lastUsedAt?.getTime() ?? null,
})

const entitiesOf = (work: Work) => work.em(import('./accounts.entities.ts'))

interface PlannedKey {
  name: string
  scopes?: Scope[]
  expiresAt?: number
}

/**
 * Checks the properties of a new key and returns them. Throws Problem `invalid`, also for an expiry that is in the past or more than
 * ten years away.
 */
export const planKey = ({ now }: Pick<Work, 'now'>, input: z.input<typeof NewKey>): PlannedKey => {
  const { name, scopes: named, expiresAt } = parse(NewKey, input)
  if (expiresAt !== undefined && !(expiresAt > now.getTime() && expiresAt <= now.getTime() + maxExpiryMs))
    throw invalid('expires must be in the future and at most 3650d away')
  return {
    name,
    ...(named && { scopes: scopes.filter((scope) => named.includes(scope)) }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

const newColumns = columns(apiKeys, [
  'id',
  'accountId',
  'name',
  'hash',
  'prefix',
  'lastFour',
  'scopes',
  'createdAt',
  'expiresAt',
])

const insertKey = statement(
  'insert-key',
  { parameters: newColumns.types },
  `insert into api_keys (${newColumns.names}) values (${newColumns.values})`,
)

/** Creates a key. Only this result contains it: the database keeps its SHA-256, a prefix and the last four characters. */
export const createKey = async (
  work: Work,
  input: z.input<typeof NewKey>,
): Promise<PlannedKey & { id: string; prefix: string; key: string }> => {
  const { sql, accountId, now } = work
  const planned = planKey(work, input)
  const { name, scopes = null, expiresAt } = planned
  const key = newKeyText()
  const prefix = key.slice(0, 13)
  const id = newId('key', now.getTime())
  await sql(insertKey, {
    id,
    accountId,
    name,
    hash: hashKey(key),
    prefix,
    lastFour: key.slice(-4),
    scopes,
    createdAt: now,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
  })
  return { id, ...planned, prefix, key }
}

const shownColumns = columns(apiKeys, [
  'id',
  'name',
  'prefix',
  'lastFour',
  'scopes',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
])

const readKeys = statement(
  'list-keys',
  { row: shownColumns.types, parameters: { accountId: 'text' } },
  `select ${shownColumns.list} from api_keys where account_id = :accountId order by id desc`,
)

export const listKeys = async ({ sql, accountId }: Work): Promise<KeyView[]> =>
  (await sql(readKeys, { accountId })).map(view)

const keyNotFound = (id: string) => noSuch('key', id, { hint: 'svc keys list' })

/** Returns the numbers of webhooks and pending deliveries that revoking a key would end. Throws Problem `not_found`. */
export const planRevocation = async (
  work: Work,
  id: string,
): Promise<{ id: string; subscriptions: number; deliveries: number }> => {
  if (!(await listKeys(work)).some((key) => key.id === id)) throw keyNotFound(id)
  const planned = { id, subscriptions: 0, deliveries: 0 }
  for (const listener of await work.listeners()) {
    const ends = await listener.keyEnds?.(work, id)
    planned.subscriptions += ends?.subscriptions ?? 0
    planned.deliveries += ends?.deliveries ?? 0
  }
  return planned
}

/** Revokes a key: every daemon refuses it from the next request on. Listeners end what it created, in the same transaction. Throws Problem `not_found`. */
export const revokeKey = async (work: Work, id: string): Promise<KeyView> => {
  const [em, { ApiKey }] = await entitiesOf(work)
  const key = await em.findOne(ApiKey, { id })
  if (!key) throw keyNotFound(id)
  if (!key.revokedAt) {
    key.revokedAt = work.now
    await em.flush()
    for (const listener of await work.listeners()) await listener.keyRevoked?.(work, id)
  }
  return view(key)
}

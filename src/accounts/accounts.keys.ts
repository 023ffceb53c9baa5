import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { noSuch } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { hashKey } from './accounts.admission.ts'
import type { ApiKey } from './accounts.entities.ts'

const NewKey = z.object({ name: text(200).trim().min(1, 'is required') })

export interface KeyView {
  id: string
  name: string
  prefix: string
  lastFour: string
  createdAt: number
  revokedAt: number | null
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns `svc_live_` and 32 random bytes in base 62, padded to 43 characters so that all keys have the same length. */
const newKeyText = (): string => {
  let rest = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let digits = ''
  for (; rest > 0n; rest /= 62n) digits = base62[Number(rest % 62n)] + digits
  return `svc_live_${digits.padStart(43, '0')}`
}

type Row = Pick<ApiKey, 'id' | 'name' | 'prefix' | 'lastFour' | 'createdAt' | 'revokedAt'>

const view = ({ id, name, prefix, lastFour, createdAt, revokedAt }: Row): KeyView => ({
  id,
  name,
  prefix,
  lastFour,
  createdAt: createdAt.getTime(),
  revokedAt: revokedAt?.getTime() ?? null,
})

const entitiesOf = (work: Work) => work.em(import('./accounts.entities.ts'))

/** Creates a key. Only this result contains it: the database keeps its SHA-256, a prefix and the last four characters. */
export const createKey = async (
  work: Work,
  input: z.input<typeof NewKey>,
): Promise<{ id: string; name: string; prefix: string; key: string }> => {
  const { accountId, now } = work
  const { name } = parse(NewKey, input)
  const [em, { ApiKey }] = await entitiesOf(work)
  const key = newKeyText()
  const prefix = key.slice(0, 13)
  const id = newId('key', now.getTime())
  em.create(ApiKey, {
    id,
    accountId,
    name,
    hash: hashKey(key),
    prefix,
    lastFour: key.slice(-4),
    createdAt: now,
  })
  await em.flush()
  return { id, name, prefix, key }
}

const readKeys = statement<Row>(
  'list-keys',
  {
    ...{ id: 'text', name: 'text', prefix: 'text', lastFour: 'text' },
    ...{ createdAt: 'timestamptz', revokedAt: 'timestamptz' },
  },
  `select id, name, prefix, last_four as "lastFour", created_at as "createdAt", revoked_at as "revokedAt"
   from api_keys where account_id = $1 order by id desc`,
)

export const listKeys = async ({ sql, accountId }: Work): Promise<KeyView[]> =>
  (await sql(readKeys, [accountId])).map(view)

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

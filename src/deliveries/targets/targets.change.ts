import { parseCidrs } from '../../net/addresses.ts'
import { checkWebhookUrl } from '../../net/webhook-url.ts'
import { statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { App, Work } from '../../store/work.ts'
import { deliveryTargets } from '../deliveries.columns.ts'
import type { DeliveryTarget } from '../deliveries.entities.ts'
import { announceTargetsChanged } from '../deliveries.notices.ts'

/** Characters that no URI has (RFC 3986). WHATWG's parser escapes most of them, but no braces in a query. */
const foreign = /[^\w\-.~:/?#[\]@!$&'()*+,;=%]/g

/**
 * Returns the URL for deliveries: as the client wrote it if that is a URI, else in its normal form, escaped. Throws Problem
 * `invalid` for one that is not public (docs/reference/events.md#public-urls). Resolves its host name: call it before the unit of
 * work.
 */
export const publicUrl = async ({ config, resolver }: App, url: string): Promise<string> => {
  const { href } = await checkWebhookUrl(url, { resolver, allow: parseCidrs(config.allowPrivateWebhooks.join(',')) })
  return url.search(foreign) === -1 ? url : href.replaceAll(foreign, encodeURIComponent)
}

const newColumns = columns(deliveryTargets, [
  'id',
  'accountId',
  'kind',
  'ownerId',
  'url',
  'sealedSecret',
  'status',
  'createdAt',
])

const insertTarget = statement(
  'insert-target',
  { parameters: newColumns.types },
  `insert into delivery_targets (${newColumns.names}) values (${newColumns.values})`,
)

type NewTarget = Pick<DeliveryTarget, 'id' | 'kind' | 'url'> & { ownerId?: string; sealedSecret: string }

/** Inserts an active target. Its secret is sealed with its id as context. */
export const createTarget = async (work: Work, target: NewTarget): Promise<void> => {
  const { sql, accountId, now } = work
  await sql(insertTarget, { ownerId: null, ...target, accountId, status: 'active', createdAt: now })
}

const redirect = statement(
  'redirect-target',
  { row: { sealed: 'text' }, parameters: types(deliveryTargets, 'accountId', 'id', 'url') },
  `update delivery_targets set url = :url, timeouts = 0, quiet_until = null
   where account_id = :accountId and id = :id and status <> 'deleted' returning sealed_secret as sealed`,
)

/**
 * Changes the URL from the next attempt on. Time-outs and quiet time are reset: they belong to the old endpoint. Returns the
 * sealed secret; undefined for a deleted target, which stays as it is.
 */
export const redirectTarget = async (work: Work, id: string, url: string): Promise<string | undefined> => {
  const [row] = await work.sql(redirect, { accountId: work.accountId, id, url })
  if (row) announceTargetsChanged(work, [id])
  return row?.sealed
}

// The assignments read the row as it was: the current secret becomes the former one.
const reseal = statement(
  'reseal-target',
  {
    parameters: {
      ...types(deliveryTargets, 'accountId', 'id'),
      sealedSecret: 'text',
      url: 'text?',
      overlapUntil: 'timestamptz?',
    },
  },
  `update delivery_targets set sealed_secret = :sealedSecret, url = coalesce(:url, url),
     former_sealed_secret = case when :overlapUntil::timestamptz is not null then sealed_secret end,
     former_secret_until = :overlapUntil
   where account_id = :accountId and id = :id`,
)

interface Resealing {
  sealedSecret: string
  url?: string | null
  /** Until then the secret that it replaces signs too. An earlier one signs nothing any more. */
  overlapUntil?: Date | null
}

/** Changes the sealed secret, and the URL if one is given, from the next attempt on. */
export const resealTarget = async (
  work: Work,
  id: string,
  { sealedSecret, url = null, overlapUntil = null }: Resealing,
): Promise<void> => {
  await work.sql(reseal, { accountId: work.accountId, id, sealedSecret, url, overlapUntil })
  announceTargetsChanged(work, [id])
}

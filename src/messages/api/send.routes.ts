import { type Answer, idempotencyKeyOf, ok, route } from '../../http/route.ts'
import { SendBody, SendResult, sendMessage } from '../messages.ts'
import { callQuotas, requireQuota } from './send.quotas.ts'
import { resultOfKey } from './send.ts'

const replayed = (result: SendResult): Answer => ({ ...ok(result), headers: { 'idempotent-replayed': 'true' } })

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const attachedOf = (body: unknown) => {
  const attachments = isObject(body) && 'attachments' in body ? body.attachments : null
  return Array.isArray(attachments) ? attachments.filter(isObject) : null
}

const send = route({
  name: 'sendEmail',
  method: 'POST',
  path: '/send',
  takesLarge: true,
  attachedOf,
  summary: 'Send one email, with your own content or from a project',
  body: SendBody,
  answers: { 200: SendResult },
  refusals: [404],
  isIdempotent: true,
  // A replay is answered even if the quota is used up. For a new call the quota is checked before the body.
  callQuotas,
  replay: async ({ app, caller: { accountId, usedUp }, headers }) => {
    const key = headers['idempotency-key']
    const result = typeof key === 'string' ? await resultOfKey(app, accountId, key) : null
    if (result) return replayed(result)
    requireQuota(app, usedUp)
    return null
  },
  handle: async ({ app, caller: { accountId, keyId }, body, headers }) => {
    const idempotencyKey = idempotencyKeyOf(headers)
    const options = { actor: `key:${keyId}`, idempotencyKey, countsCall: true }
    const { result, isReplay } = await sendMessage(app, accountId, body, options)
    return isReplay ? replayed(result) : ok(result)
  },
})

export const routes = [send]

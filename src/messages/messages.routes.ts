import { type Answer, idempotencyKeyOf, ok, route } from '../http/route.ts'
import { demandQuota, resultOfKey, SendBody, SendResult, sendMessage } from './messages.ts'

const replayed = (result: SendResult): Answer => ({ ...ok(result), headers: { 'idempotent-replayed': 'true' } })

const send = route({
  method: 'POST',
  path: '/send',
  summary: 'Send one mail, freeform or of a project, and tell what became of it',
  body: SendBody,
  answers: { 200: SendResult },
  refusals: [404],
  isIdempotent: true,
  // A replay comes even when the quota is used up; else the quota is looked at before the body.
  replay: async ({ app, caller: { accountId }, headers }) => {
    const key = headers['idempotency-key']
    const result = typeof key === 'string' ? await resultOfKey(app, accountId, key) : null
    if (result) return replayed(result)
    await demandQuota(app, accountId)
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

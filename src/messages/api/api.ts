export { callQuotas, requireQuota } from './send.quotas.ts'
export { SendBody, SendResult } from './send.shapes.ts'
export { resultOfKey, sendMessage } from './send.ts'

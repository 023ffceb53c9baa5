export { SendBody, SendResult } from './send.shapes.ts'
export { callQuotas, requireQuota, resultOfKey, sendMessage } from './send.ts'

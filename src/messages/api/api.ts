export { requireQuota, resultOfKey, sendMessage } from './send.ts'
export { SendBody, SendResult } from './shapes.ts'

export { SendBody, SendResult } from './send.shapes.ts'
export { requireQuota, resultOfKey, sendMessage } from './send.ts'

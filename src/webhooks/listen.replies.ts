import { Problem } from '../lib/problem.ts'

/** What to answer the next delivery: a status, or null for never. */
export type Reply = () => number | null

const replyOf = (text: string): number | null => {
  if (text === 'timeout') return null
  if (/^[2-5]\d\d$/.test(text)) return Number(text)
  throw new Problem('usage', `--reply takes statuses from 200 to 599 or timeout, not ${text || 'nothing'}`, {
    hint: 'svc listen --reply 500,500,200',
  })
}

/** `500,500,200`: each delivery takes the next one, and the last one stands. */
export const parseReplies = (text: string): Reply => {
  const replies = text.split(',').map((part) => replyOf(part.trim()))
  let next = 0
  return () => replies[Math.min(next++, replies.length - 1)]!
}

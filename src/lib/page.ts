import { Problem } from './problem.ts'

export interface PageFlags {
  limit?: string
  cursor?: string
}

/** What a list is asked for: at most `limit` rows, from where the page before ended. */
export interface PageRequest {
  limit: number
  cursor?: string
}

/** `--limit` (else 50) and `--cursor` as operations take them. Throws Problem `usage`. */
export const pageRequest = ({ limit = '50', cursor }: PageFlags): PageRequest => {
  const rows = /^\d{1,4}$/.test(limit) ? Number(limit) : 0
  if (rows < 1 || rows > 1000) throw new Problem('usage', '--limit must be a whole number from 1 to 1000')
  return { limit: rows, ...(cursor && { cursor }) }
}

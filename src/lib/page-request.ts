import { Problem } from './problem.ts'

export interface PageFlags {
  limit?: string
  cursor?: string
}

/** A request for at most `limit` rows, starting after the page that returned `cursor`. */
export interface PageRequest {
  limit: number
  cursor?: string | undefined
  /**
   * A page with a filter reads at most this number of rows. It may have fewer rows than `limit`, or none, although another page
   * follows. The default is to read until the page is full.
   */
  reads?: number
}

/** Parses `--limit`, whose default is 50, and `--cursor`. Throws Problem `usage`. */
export const pageRequest = ({ limit = '50', cursor }: PageFlags): PageRequest => {
  const rows = /^\d{1,4}$/.test(limit) ? Number(limit) : 0
  if (rows < 1 || rows > 1000) throw new Problem('usage', '--limit must be a whole number from 1 to 1000')
  return { limit: rows, ...(cursor && { cursor }) }
}

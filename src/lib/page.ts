import { Problem } from './problem.ts'

export interface PageFlags {
  limit: string
  cursor?: string
}

/** `--limit` and `--cursor` as operations take them. Throws Problem `usage`. */
export const pageRequest = ({ limit, cursor }: PageFlags): { limit: number; cursor?: string } => {
  const rows = /^\d{1,4}$/.test(limit) ? Number(limit) : 0
  if (rows < 1 || rows > 1000) throw new Problem('usage', '--limit must be a whole number from 1 to 1000')
  return { limit: rows, ...(cursor && { cursor }) }
}

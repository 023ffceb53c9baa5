import { isUnavailable } from '../../../src/store/database.ts'
import type { Line } from './daemons.ts'

/** Whether a line is no error, or only reports that the database was unavailable or busy. */
const isExpected = (text: string): boolean => {
  if (!text.startsWith('{')) return text.trim() === '' || /database is (not available|too busy)|next:/i.test(text)
  const { level, err } = JSON.parse(text)
  if (level < 50) return true
  return err !== undefined && (isUnavailable(err) || /The database is (not available|too busy)/.test(err.message))
}

/** Returns the daemons' log lines about unexpected errors: each kind once, with its count. */
export const unexpectedLines = (lines: readonly Line[]): string[] => {
  const kinds = Map.groupBy(
    lines.filter(({ text }) => !isExpected(text)),
    ({ text }) => {
      if (!text.startsWith('{')) return text
      const { msg, job, err } = JSON.parse(text)
      return [msg, job, err?.code, err?.message].filter(Boolean).join(' · ')
    },
  )
  return [...kinds].map(([kind, of]) => `${of.length} × in the log: ${kind}`)
}

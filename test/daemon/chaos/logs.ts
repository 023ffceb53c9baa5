import { isUnavailable } from '../../../src/store/database.ts'
import type { Line } from './daemons.ts'

/** Whether a line says no more than that the database was away or busy. */
const isExpected = (text: string): boolean => {
  if (!text.startsWith('{'))
    return text.trim() === '' || /database is (not available|too busy)|svc is ready|next:/i.test(text)
  const { level, err } = JSON.parse(text)
  if (level < 50) return true
  return err !== undefined && (isUnavailable(err) || /The database is (not available|too busy)/.test(err.message))
}

/** Lines of the daemons that say that something unexpected happened, each kind once with how often it came. */
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

import { emailMaxLength, isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import { invalid } from '../lib/problem.ts'
import type { SuppressionReason, Work } from '../store/work.ts'
import { suppressAddresses, suppressionReasons } from './suppressions.ts'

export interface SuppressionCounts {
  rows: number
  added: number
  /** They were suppressed for that reason already. */
  known: number
  /** No address, or no reason that there is. */
  rejected: number
}

const batchSize = 500

/** Ends a unit of work of a dry run, whose counts are kept and whose writing is not. */
const undone = new Error('This was a dry run')

interface Row {
  email: string
  reason: SuppressionReason
}

const reasonOf = (text: string | undefined, otherwise: SuppressionReason): SuppressionReason | null => {
  const reason = text?.trim().toLowerCase() || otherwise
  return (suppressionReasons as readonly string[]).includes(reason) ? (reason as SuppressionReason) : null
}

/** The rows of a CSV with the columns `email` and, if it likes, `reason`; or of a file with an address a line. */
const readRows = async function* (
  bytes: AsyncIterable<Uint8Array>,
  otherwise: SuppressionReason,
): AsyncGenerator<Row | null> {
  // Loaded for who imports: the threads of jobs are small.
  const { parse: csv } = await import('csv-parse')
  const parser = csv({ bom: true, relax_column_count: true, skip_empty_lines: true, trim: true })
  const feeding = (async () => {
    for await (const chunk of bytes)
      if (!parser.write(chunk)) await new Promise((resolve) => parser.once('drain', resolve))
    parser.end()
  })()
  feeding.catch((error) => parser.destroy(error))
  let places: { email: number; reason: number } | null = null
  for await (const cells of parser as AsyncIterable<string[]>) {
    if (!places) {
      const names = cells.map((cell) => cell.toLowerCase().replace('e-mail', 'email'))
      const isHeader = names.includes('email')
      places = isHeader ? { email: names.indexOf('email'), reason: names.indexOf('reason') } : { email: 0, reason: 1 }
      if (isHeader) continue
    }
    const email = normalizeEmail(cells[places.email] ?? '')
    const reason = reasonOf(cells[places.reason], otherwise)
    yield reason && email.length <= emailMaxLength && isEmailSyntax(email) ? { email, reason } : null
  }
  await feeding
}

/**
 * Suppresses the addresses of a file, 500 a unit of work, and counts what became of its rows; `reason` is for rows without
 * one. Running it again adds nothing twice; a dry run counts what it would add, batch by batch, and adds nothing. Throws Problem `invalid` for what is no CSV; what came before stays.
 */
export const importSuppressions = async (
  work: <T>(run: (work: Work) => Promise<T>) => Promise<T>,
  bytes: AsyncIterable<Uint8Array>,
  reason: SuppressionReason,
  { dryRun, signal, onRows = () => {} }: { dryRun: boolean; signal: AbortSignal; onRows?: (rows: number) => void },
): Promise<SuppressionCounts> => {
  const counts: SuppressionCounts = { rows: 0, added: 0, known: 0, rejected: 0 }
  let batch: Row[] = []

  const addBatch = (rows: readonly Row[]) => async (w: Work) => {
    let added = 0
    for (const [reason, same] of Map.groupBy(rows, (row) => row.reason)) {
      added += (
        await suppressAddresses(
          w,
          same.map(({ email }) => email),
          reason,
        )
      ).length
    }
    return added
  }
  const flush = async () => {
    const rows = batch
    batch = []
    if (rows.length === 0) return
    let added = 0
    const add = async (w: Work) => {
      added = await addBatch(rows)(w)
      if (dryRun) throw undone
    }
    await work(add).catch((error) => {
      if (error !== undone) throw error
    })
    onRows(counts.rows)
    counts.added += added
    counts.known += rows.length - added
  }

  try {
    for await (const row of readRows(bytes, reason)) {
      if (signal.aborted) break
      counts.rows++
      if (row) batch.push(row)
      else counts.rejected++
      if (batch.length >= batchSize) await flush()
    }
  } catch (error) {
    if (/^CSV_/.test((error as { code?: string }).code ?? ''))
      throw invalid(`The file is no CSV: ${(error as Error).message}`)
    throw error
  }
  await flush()
  return counts
}

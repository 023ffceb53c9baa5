import type { Table } from '../contacts/contacts.ts'
import { hasTwoAddresses, isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import { shown } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { leaveTopics, type SuppressionReason, suppressionReasons } from './suppressions.add.ts'
import { leaveNamed, optOutKey, suppressSince } from './suppressions.imported.ts'
import { listTopics } from './topics.find.ts'

interface SuppressionCounts {
  rows: number
  added: number
  /** Rows whose address was suppressed for that reason before. */
  known: number
  /** Rows without a valid address, or with an unknown topic. */
  rejected: number
  /** Rows of another product's export whose person gets email (`--from`). */
  skipped?: number
}

interface RejectedRow {
  line: number
  email: string
  reason: string
}

interface SuppressionImport {
  /** The reason of rows without a reason, or with an unknown one. */
  defaultReason: SuppressionReason
  dryRun: boolean
  signal: AbortSignal
  /** It is called after each batch with the number of rows so far. */
  onRows?(rows: number): void
  onRejected?(row: RejectedRow): void
}

const batchSize = 500

/** Thrown to roll back a unit of work of a dry run after its rows are counted. */
const rollback = new Error('This was a dry run')

interface Row {
  email: string
  /** The topic that it left. It is null for everything, and for another reason. */
  topicId: string | null
  /** Why the address is suppressed, if there is no topic. `at` is the time of the suppression in epoch ms, or null for the current time. */
  optOuts: readonly { reason: SuppressionReason; at: number | null }[]
  /** Topics that it left, by name (`--from`). */
  left: readonly string[]
}

/**
 * Suppresses the addresses of a file, 500 in each unit of work. Returns the counts of its rows and, in `unknown`, up to ten reasons
 * that do not exist. It is idempotent, so an interrupted import can be repeated. A dry run only counts.
 */
export const importSuppressions = async (
  work: <T>(run: (work: Work) => Promise<T>) => Promise<T>,
  { columns, rows }: Pick<Table, 'columns' | 'rows'>,
  { defaultReason, dryRun, signal, onRows = () => {}, onRejected = () => {} }: SuppressionImport,
): Promise<{ counts: SuppressionCounts; unknown: string[] }> => {
  const { read } = columns
  const counts: SuppressionCounts = { rows: 0, added: 0, known: 0, rejected: 0, ...(read && { skipped: 0 }) }
  const unknown = new Set<string>()
  const at = (name: string) => columns.fields.findIndex((field) => field?.toLowerCase() === name)
  const [reasonAt, topicAt] = [at('reason'), at('topic')]
  const topics = topicAt < 0 ? [] : await work(listTopics)
  let batch: Row[] = []

  const reasonOf = (values: readonly string[]): SuppressionReason => {
    const text = values[reasonAt]?.trim().toLowerCase() ?? ''
    const known = suppressionReasons.find((reason) => reason === text)
    if (!known && text !== '' && unknown.size < 10) unknown.add(text)
    return known ?? defaultReason
  }
  /** Returns the id of the row's topic, null if it names none, or why the row is rejected. */
  const topicOf = (values: readonly string[]): { id: string | null } | { fault: string } => {
    const ref = values[topicAt]?.trim() ?? ''
    if (ref === '') return { id: null }
    const topic = topics.find(({ id }) => id === ref) ?? topics.find(({ name }) => name === ref)
    if (!topic) return { fault: `unknown topic ${shown(ref)}` }
    const reason = values[reasonAt]?.trim().toLowerCase() ?? ''
    return reason === '' || reason === 'unsubscribed'
      ? { id: topic.id }
      : { fault: 'a topic implies the reason unsubscribed' }
  }
  const add = async (rows: readonly Row[], w: Work): Promise<number> => {
    const ofTopic = Map.groupBy(rows, ({ topicId }) => topicId)
    const optOutsOf = ({ email, optOuts }: Row) => optOuts.map((optOut) => ({ email, ...optOut }))
    const everything = ofTopic.get(null) ?? []
    const fresh = await suppressSince(w, everything.flatMap(optOutsOf))
    // A row with several reasons counts once, and a second row with the same ones is known.
    const isAdded = (row: Row) => optOutsOf(row).filter((optOut) => fresh.delete(optOutKey(optOut))).length > 0
    const left = new Map<string, Set<string>>()
    for (const row of rows)
      for (const topic of row.left) left.getOrInsertComputed(topic, () => new Set()).add(row.email)
    const newlyLeft = await leaveNamed(w, left)
    let added = everything.filter((row) => isAdded(row) || (row.left.length > 0 && newlyLeft.delete(row.email))).length
    for (const [topicId, same] of ofTopic) {
      const emails = same.map(({ email }) => email)
      if (topicId !== null) added += (await leaveTopics(w, emails, [topicId])).length
    }
    return added
  }
  const flush = async () => {
    const rows = batch
    batch = []
    if (rows.length === 0) return
    let added = 0
    await work(async (w) => {
      added = await add(rows, w)
      if (dryRun) throw rollback
    }).catch((error) => {
      if (error !== rollback) throw error
    })
    onRows(counts.rows)
    counts.added += added
    counts.known += rows.length - added
  }

  try {
    for await (const { line, values, fault } of rows) {
      if (signal.aborted) break
      counts.rows++
      const given = values[columns.email] ?? ''
      const email = normalizeEmail(given)
      const said = read && !fault ? read(values) : null
      if (said && said.optOuts.length + said.leftTopics.length === 0) {
        counts.skipped!++
        continue
      }
      const isTwo = !fault && hasTwoAddresses(email)
      const isAddress = !fault && !isTwo && isEmailSyntax(email)
      const topic = isAddress
        ? topicOf(values)
        : { fault: fault ?? (isTwo ? 'two email addresses' : 'no email address') }
      if (isAddress && said) batch.push({ email, topicId: null, optOuts: said.optOuts, left: said.leftTopics })
      else if ('id' in topic) {
        const reasons = topic.id === null ? [reasonOf(values)] : []
        batch.push({ email, topicId: topic.id, optOuts: reasons.map((reason) => ({ reason, at: null })), left: [] })
      } else {
        counts.rejected++
        onRejected({ line, email: given, reason: topic.fault })
      }
      if (batch.length >= batchSize) await flush()
    }
  } catch (error) {
    if (!signal.aborted || (error as Error).name !== 'AbortError') throw error
  }
  await flush()
  return { counts, unknown: [...unknown] }
}

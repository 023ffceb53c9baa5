import { isUnavailable } from '../store/database.ts'
import type { App, Report } from '../store/work.ts'
import { findClaimsOf, freeClaims, type OwnRow } from './mail.claim.ts'

/*
 * PostgreSQL may execute a claim, or the commit of POST /send, whose answer is lost with its connection: the rows then belong
 * to a living worker that does not know of them. So each worker asks from time to time which rows are its own, and frees
 * those that it does not hold.
 */

const everyMs = 30_000
/** Reading the queue takes at most one part in this many of the time. */
const restFactor = 50
/** A row counts as lost when two looks this far apart find it: what one look finds may be an answer on its way. */
const confirmMs = 2000

interface Ports {
  /** The worker; null while it has none. */
  worker(): number | null
  /** The messages in the hands of the process, by their ids. */
  held: ReadonlyMap<string, Pick<OwnRow, 'claim'>>
  report: Report
}

export interface Reconciler {
  /** The answer of a statement that claims was lost: looks at once. */
  suspect(): void
  close(): void
}

export const createReconciler = (app: App, { worker, held, report }: Ports): Reconciler => {
  let timer: NodeJS.Timeout | undefined
  let suspects = new Set<string>()
  let isLooking = false
  let isClosed = false

  const after = (ms: number) => {
    clearTimeout(timer)
    if (!isClosed) timer = setTimeout(look, ms).unref()
  }

  const reconcile = async (): Promise<number> => {
    const own = worker()
    if (own === null) return confirmMs
    const startedAt = performance.now()
    const found = await findClaimsOf(app.sql, own, [...held.keys()])
    const lost = found.filter(({ id, claim }) => held.get(id)?.claim !== claim)
    const keyOf = ({ id, claim }: OwnRow) => `${own} ${id} ${claim}`
    const confirmed = lost.filter((row) => suspects.has(keyOf(row)))
    suspects = new Set(lost.map(keyOf))
    if (confirmed.length > 0) await freeClaims(app, own, confirmed)
    return lost.length > 0 ? confirmMs : Math.max(everyMs, restFactor * (performance.now() - startedAt))
  }

  const look = async () => {
    if (isLooking) return
    isLooking = true
    const nextMs = await reconcile().catch((error) => {
      if (!isUnavailable(error)) report(error, {})
      return isUnavailable(error) ? confirmMs : everyMs
    })
    isLooking = false
    after(nextMs)
  }

  after(everyMs)
  return {
    suspect: () => after(0),
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

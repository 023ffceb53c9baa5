import type { Database } from '../store/database.ts'

/*
 * An idle scheduler asks the database nothing: a heartbeat of a worker of its process asks for it, in the statement that it makes
 * anyway (lease.ts). The scheduler asks itself at its own interval while it has work, and while no heartbeat asks.
 */

/** Boolean SQL expressions, by scheduler: whether it may have work. */
export type Looks = Readonly<Record<string, string>>

const channel = 'svc_looks'

/** Heartbeats come every 2 s: an older answer counts as none. */
const freshMs = 3000

type Ports = { database: Pick<Database, 'notices'> }

/** Reports to the schedulers of this process which of them may have work, by a heartbeat. */
export const reportLooks = ({ database }: Ports, found: Readonly<Record<string, boolean | null>>): void =>
  database.notices.tell(channel, JSON.stringify(found))

/** What heartbeats find for a scheduler. */
export interface Look {
  /** The last heartbeat was answered just now, and found no work. */
  readonly isIdle: boolean
  close(): void
}

/** Follows what heartbeats find for a scheduler, and calls `ring` when there is work after there was none. */
export const followLooks = ({ database }: Ports, scheduler: string, ring: () => void): Look => {
  let hasWork = true
  let lookedAt = Number.NEGATIVE_INFINITY
  const close = database.notices.hear((notice) => {
    if (notice.channel !== channel) return
    const found: Record<string, boolean | null> = JSON.parse(notice.payload)
    if (!(scheduler in found)) return
    const hadWork = hasWork
    hasWork = found[scheduler] ?? false
    lookedAt = performance.now()
    if (hasWork && !hadWork) ring()
  })
  return {
    get isIdle() {
      return !hasWork && performance.now() - lookedAt < freshMs
    },
    close,
  }
}

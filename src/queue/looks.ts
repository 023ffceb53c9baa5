import type { App } from '../store/work.ts'

/*
 * An idle scheduler asks the database nothing: a heartbeat of a worker of its process asks for it, in the statement that it makes
 * anyway (lease.ts). The scheduler asks itself at its own interval while it has work, and while no heartbeat asks.
 */

/** Boolean SQL expressions, by scheduler: whether it may have work. */
export type Looks = Readonly<Record<string, string>>

const channel = 'svc_looks'

/** Heartbeats come every 2 s: an older answer counts as none. */
const freshMs = 3000

type Ports = Pick<App, 'looks'> & { database: Pick<App['database'], 'notices'> }

/**
 * Records what a heartbeat found for the schedulers of this process, and notifies those that have work after they had none. Shared
 * memory holds the answers, because messages would wake every thread twice in 2 s. The first message also makes a thread load
 * Node's own undici, for the class of the event, which takes 8 MB in a daemon.
 */
export const reportLooks = ({ looks, database }: Ports, found: Readonly<Record<string, boolean | null>>): void => {
  const rung: string[] = []
  for (const [scheduler, hasWork] of Object.entries(found)) {
    if (!hasWork) looks.beat(scheduler)
    else if (looks.clear(scheduler)) rung.push(scheduler)
  }
  if (rung.length > 0) database.notices.tell(channel, JSON.stringify(rung))
}

/** What heartbeats find for a scheduler. */
interface Look {
  /** The last heartbeat was answered just now, and found no work. */
  readonly isIdle: boolean
  close(): void
}

/** Follows what heartbeats find for a scheduler, and calls `ring` when there is work after there was none. */
export const followLooks = ({ looks, database }: Ports, scheduler: string, ring: () => void): Look => ({
  get isIdle() {
    return looks.ageMs(scheduler) < freshMs
  },
  close: database.notices.hear([channel], ({ payload }) => {
    if (JSON.parse(payload).includes(scheduler)) ring()
  }),
})

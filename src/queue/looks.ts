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

const isIdle = ({ looks }: Ports, scheduler: string): boolean => looks.ageMs(scheduler) < freshMs

/**
 * Notes for the schedulers of this process which of them may have work, by a heartbeat, and rings for those that had none. The
 * answers are in shared memory, because messages would wake every thread twice in 2 s: the first message makes a thread load Node's
 * own undici, for the class of the event, which takes 8 MB in a daemon.
 */
export const reportLooks = (ports: Ports, found: Readonly<Record<string, boolean | null>>): void => {
  const { looks, database } = ports
  const rung: string[] = []
  for (const [scheduler, hasWork] of Object.entries(found)) {
    if (hasWork && isIdle(ports, scheduler)) rung.push(scheduler)
    if (hasWork) looks.clear(scheduler)
    else looks.beat(scheduler)
  }
  if (rung.length > 0) database.notices.tell(channel, JSON.stringify(rung))
}

/** What heartbeats find for a scheduler. */
export interface Look {
  /** The last heartbeat was answered just now, and found no work. */
  readonly isIdle: boolean
  close(): void
}

/** Follows what heartbeats find for a scheduler, and calls `ring` when there is work after there was none. */
export const followLooks = (ports: Ports, scheduler: string, ring: () => void): Look => ({
  get isIdle() {
    return isIdle(ports, scheduler)
  },
  close: ports.database.notices.hear(({ channel: told, payload }) => {
    if (told === channel && JSON.parse(payload).includes(scheduler)) ring()
  }),
})

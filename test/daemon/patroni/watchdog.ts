import { execFile } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { Socket } from 'node:net'
import { promisify } from 'node:util'

export interface Watchdog {
  /** Stops its timer, as a reset of the machine does. */
  disarm(): void
  close(): void
}

/**
 * Stands in for /dev/watchdog, with a pipe at `path` that Patroni's own driver `testing` writes to: `Ctimeout=15` and a
 * newline for the ioctl that sets the timeout in seconds, `1` for a keepalive, `V` before an orderly close. Like the
 * device, it calls `reset` once nothing has come for the timeout, also if Patroni has ended without a `V`.
 */
export const openWatchdog = async (
  path: string,
  user: { uid: number; gid: number } | undefined,
  reset: () => void,
): Promise<Watchdog> => {
  await promisify(execFile)('mkfifo', ['-m', '600', path])
  if (user) await chown(path, user.uid, user.gid)
  // Open for writing too: otherwise the pipe ends whenever Patroni closes it.
  const pipe = new Socket({ fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) })
  let timeoutMs = 0
  let timer: NodeJS.Timeout | undefined
  const disarm = () => clearTimeout(timer)
  pipe.setEncoding('latin1').on('data', (text: string) => {
    for (const [written, seconds] of text.matchAll(/Ctimeout=(\d+)\n|[1V]/g)) {
      if (seconds) timeoutMs = Number(seconds) * 1000
      disarm()
      if (written !== 'V') timer = setTimeout(reset, timeoutMs)
    }
  })
  return {
    disarm,
    close() {
      disarm()
      pipe.destroy()
    },
  }
}

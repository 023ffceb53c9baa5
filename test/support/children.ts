import { type ChildProcess, type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import type { Socket } from 'node:net'
import { atEnd } from './scope.ts'

/*
 * Processes that end with the test that starts them. Each leads a process group of its own, with which its children end. If this
 * process is killed, a shell ends them: it notices by the end of its standard input, and no signal to this process's group
 * reaches it.
 */

const watch = `
while read -r sign pid; do
  others=
  for one in $pids; do [ "$one" = "$pid" ] || others="$others $one"; done
  pids=$others
  [ "$sign" = - ] || pids="$pids $pid"
done
for pid in $pids; do kill -s KILL -- "-$pid"; done`

let watcher: ChildProcess | undefined

const note = (sign: '+' | '-', pid: number): void => {
  if (!watcher) {
    const { TEST_RUN } = process.env
    // The run ends after the watchers of its workers (global.ts).
    const run = TEST_RUN ? openSync(TEST_RUN, 'r+') : 'ignore'
    watcher = spawn('sh', ['-c', watch], { detached: true, stdio: ['pipe', 'ignore', 'ignore', run] })
    watcher.unref()
    ;(watcher.stdin as Socket).unref()
  }
  watcher.stdin!.write(`${sign} ${pid}\n`)
}

/** Sends a signal to the processes of a group; 0 only looks for them. Returns whether there is one. */
const signalGroup = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Has the process, which leads a group of its own, killed with its group when this worker ends. */
export const endWithWorker = (pid: number): void => note('+', pid)

/** As `spawn`, with pipes; kills the process and its children after the test, or after the file if a hook of the file calls it. */
export const spawnInTest = (
  command: string,
  args: readonly string[],
  options: Omit<SpawnOptions, 'stdio' | 'detached'> = {},
): ChildProcessWithoutNullStreams => {
  const child = spawn(command, args, { ...options, stdio: 'pipe', detached: true })
  const { pid } = child
  if (pid !== undefined) {
    let isOver = false
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => {
        // Once the group has ended, the system can reuse its id.
        isOver = !signalGroup(pid, 0)
        if (isOver) note('-', pid)
        resolve()
      })
    })
    note('+', pid)
    atEnd(async () => {
      if (isOver) return
      signalGroup(pid, 'SIGKILL')
      await exited
      if (!isOver) note('-', pid)
    })
  }
  return child
}

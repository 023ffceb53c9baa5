import { afterEach } from 'vitest'
import { type Daemon, startDaemon } from './daemon.ts'
import { type Given, resolved } from './fixture.ts'

/**
 * Starts daemons, and kills those of each test after it. Vitest runs the last hook first: call it after the hooks that close what
 * the daemons use.
 */
export const useDaemons = (target: Given<{ env: Record<string, string> }>) => {
  const daemons: Daemon[] = []
  const kill = () => Promise.all(daemons.splice(0).map((daemon) => daemon.kill('SIGKILL')))
  afterEach(kill)
  return {
    /** Those of the test, in the order of their starts. */
    daemons,
    kill,
    async start(args = ['serve'], env: Record<string, string> = {}): Promise<Daemon> {
      const daemon = await startDaemon(resolved(target), { args, env })
      daemons.push(daemon)
      return daemon
    },
  }
}

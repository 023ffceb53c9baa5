import { afterEach } from 'vitest'
import { startApp, type TestApp } from './app.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { created, type Given, opened, resolved } from './fixture.ts'
import { outOfScope } from './scope.ts'

/** Starts a daemon for the tests of this file or `describe`, and kills it after them. */
export const useDaemon = (
  target: Given<{ env: Record<string, string> }>,
  options?: Given<NonNullable<Parameters<typeof startDaemon>[1]>>,
): Daemon =>
  opened(async () => {
    const daemon = await startDaemon(resolved(target), options && resolved(options))
    return Object.assign(daemon, { close: () => daemon.kill('SIGKILL') })
  })

export interface SharedDaemon extends TestApp {
  daemon: Daemon
}

const openShared = async (): Promise<SharedDaemon> => {
  const t = await startApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
  return Object.assign(t, { daemon: await startDaemon(t) })
}

let shared: Promise<SharedDaemon> | undefined

/**
 * Returns a daemon, and an app on its database, that all files of this worker share. For tests that neither stop nor disturb it,
 * and that create accounts of their own. It delivers to receivers on this machine; its relay refuses connections.
 */
export const useSharedDaemon = (): SharedDaemon =>
  created(() => {
    shared ??= outOfScope(openShared)
    return shared
  })

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

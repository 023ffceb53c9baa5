import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { newSigningSecret } from '../../src/lib/signature.ts'
import { advanceClock, resetClock } from '../../src/store/clock.ts'
import { type Catcher, openCatcher } from '../../src/tools/catcher/catcher.ts'
import { type Console, openConsole } from '../../src/tools/console/console.ts'
import { startApp, type TestApp } from './app.ts'

export interface TestConsole {
  t: TestApp
  console: Console
  catcher: Catcher
  folder: string
  /** The signing secret of its receiver. */
  secret: string
  /** The origin of svc's own pages, where no server listens. */
  daemonOrigin: string
  /** Sends an email directly to the catcher. */
  mail(mail: SendMailOptions): Promise<unknown>
  close(): Promise<void>
}

/** Starts the console of `svc dev` with its catcher, beside the app of a development database, in this process. */
export const startConsole = async (): Promise<TestConsole> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-console-'))
  const catcher = await openCatcher(0, folder, () => new Date())
  const t = await startApp({ env: { SVC_SMTP_URL: catcher.url }, development: true })
  const secret = newSigningSecret()
  const daemonOrigin = 'http://127.0.0.1:1'
  const console = await openConsole({
    hiddenPaths: ['/sample/harbour.png'],
    port: 0,
    token: 'token',
    secret: () => secret,
    now: t.app.systemNow,
    dataDir: folder,
    clock: { advance: (byMs) => advanceClock(t.app.database, byMs), reset: () => resetClock(t.app.database) },
    held: catcher.held,
    daemonOrigins: () => [daemonOrigin],
  })
  const transport = createTransport({ url: catcher.url, pool: true, maxConnections: 1 })
  return {
    t,
    console,
    catcher,
    folder,
    secret,
    daemonOrigin,
    mail: (mail) => transport.sendMail({ from: 'shop@sample.example', to: 'ada@people.example', text: 'Hi', ...mail }),
    async close() {
      transport.close()
      await console.close()
      await t.close()
      await catcher.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

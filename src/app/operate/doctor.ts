import { Problem } from '../../lib/problem.ts'
import { readDaemonSettings, readPublicUrl } from '../../store/installation.ts'
import { readProcesses } from '../../store/processes.ts'
import { type OpenApp, openApp } from '../app.ts'
import { type Config, inspectConfig, sharedSettings } from '../config.ts'
import { findDatabase } from '../open.ts'
import { type Check, fail, reasonOf, warn } from './doctor.check.ts'
import { checkCalendars, checkDatabase, checkQueues } from './doctor.database.ts'
import { checkErasures, checkNode, checkPlace, checkServing, checkSettings, type Daemons } from './doctor.machine.ts'
import { checkDns, checkRelays } from './doctor.net.ts'

const unchecked = (why: string): Check[] =>
  ['database', 'schema', 'clock', 'secret', 'relay'].map((name) =>
    warn(name, name === 'database' ? why : `not checked: ${why}`),
  )

const readDaemons = async ({ sql }: OpenApp): Promise<Daemons> => ({
  isConnected: (await readProcesses(sql)).some(({ parts }) => parts.includes('daemon')),
  publicUrl: await readPublicUrl(sql),
  settings: await readDaemonSettings(sql),
})

const checkStored = async (config: Config | null): Promise<{ checks: Check[]; daemons: Daemons | null }> => {
  if (!config) return { checks: unchecked('there is no database yet: svc serve creates it'), daemons: null }
  try {
    const app = await openApp(config, { schema: 'ignore', connections: 4, name: 'svc cli' })
    try {
      const checks = await checkDatabase(app)
      const isReady = checks.every(({ name, status }) => name !== 'schema' || status === 'ok')
      if (!isReady) return { checks: [...checks, warn('relay', 'not checked: the schema does not fit')], daemons: null }
      return {
        checks: [...checks, ...(await checkRelays(app)), ...(await checkCalendars(app)), ...(await checkQueues(app))],
        daemons: await readDaemons(app),
      }
    } finally {
      await app.close()
    }
  } catch (error) {
    const [, ...others] = unchecked('the database is not available')
    const where = config.databaseUrl === null ? `check ${config.dataDir}` : 'check DATABASE_URL and the server'
    const reason = error instanceof Problem ? error.message : reasonOf(error)
    return { checks: [fail('database', `${reason}: ${where}`), ...others], daemons: null }
  }
}

/** Checks everything a daemon needs, without creating anything. A check that can't run is a warning that says why. */
export const examine = async (): Promise<Check[]> => {
  let config: Config | null
  let settings: ReturnType<typeof inspectConfig>
  try {
    settings = inspectConfig()
    config = findDatabase(settings)
  } catch (error) {
    const hint = error instanceof Problem && error.detail.hint
    return [checkNode(), fail('configuration', hint ? `${error.message}: ${hint}` : reasonOf(error))]
  }
  const { erasuresFile } = settings
  // The default one is in the data folder.
  const isNamed = Boolean(process.env.SVC_ERASURES_FILE)
  const [place, { checks, daemons }, dns, erasures] = await Promise.all([
    checkPlace(settings),
    checkStored(config),
    checkDns(settings),
    isNamed && erasuresFile !== null ? [await checkErasures(erasuresFile)] : [],
  ])
  const serving = await checkServing(settings, daemons, Boolean(process.env.SVC_PUBLIC_URL))
  return [
    checkNode(),
    ...place,
    ...erasures,
    ...checks,
    ...dns,
    ...serving,
    ...checkSettings(sharedSettings(settings), daemons),
  ]
}

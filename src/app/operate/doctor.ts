import { Problem } from '../../lib/problem.ts'
import { openApp } from '../app.ts'
import { type Config, lookAtConfig } from '../config.ts'
import { type Check, fail, reasonOf, warn } from './doctor.check.ts'
import { checkDatabase } from './doctor.database.ts'
import { checkNode, checkPlace, checkServing } from './doctor.machine.ts'
import { checkDns, checkRelays } from './doctor.net.ts'
import { findDatabase } from './open.ts'

const unseen = (why: string): Check[] =>
  ['database', 'schema', 'clock', 'secret', 'relay'].map((name) =>
    warn(name, name === 'database' ? why : `not looked at: ${why}`),
  )

const checkStored = async (config: Config | null): Promise<Check[]> => {
  if (!config) return unseen('there is no database yet: svc serve sets it up')
  try {
    const app = await openApp(config, { schema: 'ignore', connections: 4, name: 'svc cli' })
    try {
      const checks = await checkDatabase(app)
      const isReady = checks.every(({ name, status }) => name !== 'schema' || status === 'ok')
      return [...checks, ...(isReady ? await checkRelays(app) : [warn('relay', 'not looked at: the schema is behind')])]
    } finally {
      await app.close()
    }
  } catch (error) {
    const [, ...others] = unseen('the database is not available')
    const where = config.databaseUrl === null ? `look into ${config.dataDir}` : 'look at DATABASE_URL and the server'
    const reason = error instanceof Problem ? error.message : reasonOf(error)
    return [fail('database', `${reason}: ${where}`), ...others]
  }
}

/** Looks at everything a daemon needs, and makes nothing. What can't be looked at is a warning that says why. */
export const examine = async (): Promise<Check[]> => {
  let config: Config | null
  let settings: Omit<Config, 'secret'>
  try {
    settings = lookAtConfig()
    config = findDatabase()
  } catch (error) {
    return [checkNode(), fail('configuration', reasonOf(error))]
  }
  const [place, stored, dns, serving] = await Promise.all([
    checkPlace(settings),
    checkStored(config),
    checkDns(settings),
    checkServing(settings),
  ])
  return [checkNode(), ...place, ...stored, ...dns, ...serving]
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '../../lib/problem.ts'
import type { SchemaRule } from '../../store/schema.ts'
import { type OpenApp, openApp } from '../app.ts'
import { type Config, lookAtConfig } from '../config.ts'

/** The configuration of a database that is there, whatever its schema; null where the data folder has none yet. */
export const findDatabase = (): Config | null => {
  const { secret, ...config } = lookAtConfig()
  const isThere = config.databaseUrl !== null || existsSync(join(config.dataDir, 'pgdata'))
  return isThere && secret !== null ? { ...config, secret } : null
}

/**
 * Opens the database for who looks at it, by default whatever its schema and secret, and makes none: throws Problem
 * `unavailable` where the data folder has none yet.
 */
export const openToLook = async (schema: SchemaRule = 'ignore'): Promise<OpenApp> => {
  const config = findDatabase()
  if (!config)
    throw new Problem('unavailable', 'There is no database here yet', { hint: 'svc serve, or set SVC_DATA_DIR' })
  return openApp(config, { schema, connections: 4, name: 'svc cli' })
}

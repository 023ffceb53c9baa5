import { existsSync } from 'node:fs'
import { hasCluster } from '../embedded/folder.ts'
import { Problem } from '../lib/problem.ts'
import type { SchemaRule } from '../store/schema.ts'
import { type OpenApp, openApp } from './app.ts'
import { type Config, inspectConfig } from './config.ts'
import { keptSecret, lostSecret } from './secret.ts'

type Place = Pick<Config, 'databaseUrl' | 'dataDir'>

const hasDatabase = ({ databaseUrl, dataDir }: Place): boolean => databaseUrl !== null || hasCluster(dataDir)

const noDatabase = ({ dataDir }: Place) =>
  new Problem(
    'unavailable',
    process.env.SVC_DATA_DIR
      ? `There is no database yet in SVC_DATA_DIR, ${dataDir}`
      : `There is no database here yet: no ${dataDir}, and no .svc of this user in a folder above it`,
    { hint: 'svc dev or svc db migrate creates one; or set SVC_DATA_DIR to the folder that has it' },
  )

/** Throws Problem `unavailable` if there is no database yet: only `svc dev`, `svc serve` and `svc db migrate` create one. */
export const requireDatabase = (place: Place): void => {
  if (!hasDatabase(place)) throw noDatabase(place)
}

/**
 * Returns the configuration of an existing database, whatever its schema, or null if there is none yet. Throws Problem
 * `configuration` if there is one without a secret.
 */
export const findDatabase = ({ secret, ...config }: ReturnType<typeof inspectConfig>): Config | null => {
  if (!hasDatabase(config)) return null
  if (secret !== null) return { ...config, secret }
  throw lostSecret(config.dataDir)
}

/** Returns the configuration of an existing database. Throws Problem `unavailable` if there is none. */
export const readExisting = (): Config => {
  const settings = inspectConfig()
  const config = findDatabase(settings)
  if (config) return config
  throw noDatabase(settings)
}

/** Returns the configuration of a database that exists or will be created. `check` may refuse its place. */
export const readOrCreate = (check: (place: Place) => void = () => {}): Config => {
  // The environment is read once: root, as the data folder's owner, could not read its files a second time.
  const settings = inspectConfig()
  check(settings)
  return findDatabase(settings) ?? { ...settings, secret: settings.secret ?? keptSecret(settings.dataDir) }
}

/**
 * Returns the configuration for `svc db restore`, which creates a database only if SVC_DATA_DIR is set or the data folder exists.
 * Its dry run creates none.
 */
export const readRestoreTarget = (dryRun: boolean): Config =>
  readOrCreate((place) => {
    if (dryRun || (!process.env.SVC_DATA_DIR && !existsSync(place.dataDir))) requireDatabase(place)
  })

/** Opens an existing database for a command. */
export const openForCommand = async (): Promise<OpenApp> =>
  openApp(readExisting(), {
    connections: 4,
    name: 'svc cli',
    links: { isGiven: Boolean(process.env.SVC_PUBLIC_URL) },
  })

/**
 * Opens an existing database, by default whatever its schema and secret. Throws Problem `unavailable` if the data folder has
 * none yet.
 */
export const openForInspection = async (schema: SchemaRule = 'ignore'): Promise<OpenApp> =>
  openApp(readExisting(), { schema, connections: 4, name: 'svc cli' })

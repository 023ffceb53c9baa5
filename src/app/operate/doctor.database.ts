import { secretFingerprint } from '../../lib/secrets.ts'
import { readFingerprint } from '../../store/installation.ts'
import { schemaState } from '../../store/schema.ts'
import type { OpenApp } from '../app.ts'
import { type Check, fail, ok, warn } from './doctor.check.ts'
import { sealedColumns } from './sealed.ts'

const leastVersion = 15
const [farMs, tooFarMs] = [1000, 60_000]
/** So many of each kind are opened: a secret that opens these opens the others. */
const openedOfEach = 100

const checkVersion = async ({ sql }: OpenApp): Promise<Check> => {
  const [row] = await sql<{ version: string; number: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
  )
  const { version, number } = row!
  return number >= leastVersion * 10_000
    ? ok('database', `PostgreSQL ${version}`)
    : fail('database', `PostgreSQL ${version} is too old: svc needs ${leastVersion} or newer`)
}

const checkSchema = async ({ database }: OpenApp): Promise<Check> => {
  const { applied, pending } = await schemaState(database)
  return pending.length === 0
    ? ok('schema', `up to date, ${applied.length} migrations`)
    : fail('schema', `behind by ${pending.length} migration(s): svc db migrate`)
}

const checkClock = (app: OpenApp): Check => {
  const skewMs = Math.round(app.now().getTime() - app.systemNow().getTime())
  const far = Math.abs(skewMs)
  const message = `this machine's is ${far} ms ${skewMs > 0 ? 'behind' : 'ahead of'} the database's`
  if (far <= farMs) return ok('clock', far < 1 ? 'the same as the database’s' : message)
  return (far <= tooFarMs ? warn : fail)('clock', `${message}: set both by NTP, signatures are judged by them`)
}

const checkSecret = async ({ sql, box, config }: OpenApp): Promise<Check> => {
  const kept = await readFingerprint(sql)
  if (kept !== undefined && kept !== secretFingerprint(config.secret))
    return fail('secret', 'SVC_SECRET is not the one that this database was set up with: start with that one')
  let opened = 0
  for (const { table, column, context } of sealedColumns) {
    const rows = await sql<{ sealed: string; context: string }>(
      `select ${column} as sealed, ${context} as context from ${table} where ${column} is not null limit ${openedOfEach}`,
    )
    for (const row of rows) {
      try {
        box.open(row.sealed, row.context)
      } catch {
        return fail('secret', `SVC_SECRET does not open what is stored in ${table}: start with the one that sealed it`)
      }
    }
    opened += rows.length
  }
  return ok('secret', `opens what is stored (${opened} looked at)`)
}

/** The database and what in it a daemon needs. */
export const checkDatabase = async (app: OpenApp): Promise<Check[]> => {
  const [version, schema] = await Promise.all([checkVersion(app), checkSchema(app)])
  if (schema.status === 'fail')
    return [version, schema, checkClock(app), warn('secret', 'not looked at: the schema is behind')]
  return [version, schema, checkClock(app), await checkSecret(app)]
}

import { span } from '../../cli/output.ts'
import { quantity } from '../../lib/quantity.ts'
import { secretFingerprint } from '../../lib/secrets.ts'
import { readHeld } from '../../queue/holds.ts'
import { isDiskFull, isReadOnly } from '../../store/faults.ts'
import { readFingerprint, readRestored } from '../../store/installation.ts'
import { schemaState } from '../../store/schema.ts'
import { statement } from '../../store/statement.ts'
import type { OpenApp } from '../app.ts'
import { type Check, fail, ok, warn } from './doctor.check.ts'
import { sealedColumns } from './rotate.ts'
import { databasePlace } from './status.ts'

const leastVersion = 15
const [farMs, tooFarMs] = [1000, 60_000]
/** At most this many texts of each column are opened, as a sample. */
const openedOfEach = 100

const readVersion = statement(
  'read-version-of-server',
  { row: { version: 'text', number: 'int4' } },
  `select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
)

const unwritable = async ({ database }: OpenApp): Promise<string | null> => {
  try {
    await database.requireSpace(true)
    return null
  } catch (error) {
    if (isReadOnly(error)) return 'it accepts no writes: connect to the leader, or end its read-only state'
    if (isDiskFull(error)) return 'its disk is full: free some space'
    throw error
  }
}

const checkServer = async (app: OpenApp): Promise<Check> => {
  const { sql } = app
  const [row] = await sql(readVersion)
  const { version, number } = row!
  if (number < leastVersion * 10_000)
    return fail('database', `PostgreSQL ${version} is too old: svc needs ${leastVersion} or newer`)
  const place = `PostgreSQL ${version}, ${databasePlace(app)}`
  const fault = await unwritable(app)
  return fault === null ? ok('database', place) : fail('database', `${place}: ${fault}`)
}

const readTimeouts = statement(
  'read-statement-timeouts',
  { row: { name: 'text', value: 'text' } },
  `select name, current_setting(name) as value from pg_settings
   where name in ('statement_timeout', 'transaction_timeout') and setting <> '0' order by name`,
)

/** Warns of time limits of the role or the database, which end long statements: imports, counts and purges. */
const checkTimeouts = async ({ sql }: OpenApp): Promise<Check[]> => {
  const rows = await sql(readTimeouts)
  return rows.map(({ name, value }) =>
    warn(name, `the server ends work after ${value}, imports and purges included: alter role … set ${name} = 0`),
  )
}

const checkSchema = async ({ database }: OpenApp): Promise<Check> => {
  const { applied, pending, incompatible } = await schemaState(database)
  if (incompatible.length > 0)
    return fail('schema', 'newer than this version of svc: install the version that migrated it, or a later one')
  return pending.length === 0
    ? ok('schema', `up to date, ${quantity(applied.length, 'migration')}`)
    : fail('schema', `behind by ${quantity(pending.length, 'migration')}: svc db migrate`)
}

/** Reports a restore that is not complete. It says nothing if there is none. */
const checkRestore = async ({ sql }: OpenApp): Promise<Check[]> =>
  (await readRestored(sql)) === null
    ? []
    : [fail('restore', 'not complete, so nothing starts: if it was interrupted, svc db restore <file> continues it')]

const checkClock = (app: OpenApp): Check => {
  const skewMs = Math.round(app.now().getTime() - app.systemNow().getTime())
  const far = Math.abs(skewMs)
  const message = `this machine's is ${far} ms ${skewMs > 0 ? 'behind' : 'ahead of'} the database's`
  const aheadMs = app.systemNow().getTime() - Date.now()
  const moved = aheadMs > 0 ? `; the development clock is ${span(aheadMs)} ahead: svc clock reset` : ''
  if (far <= farMs) return ok('clock', `${far < 1 ? 'the same as the database’s' : message}${moved}`)
  return (far <= tooFarMs ? warn : fail)(
    'clock',
    `${message}: synchronise both clocks by NTP, since signatures contain times`,
  )
}

const checkSecret = async ({ sql, box, config }: OpenApp): Promise<Check> => {
  const kept = await readFingerprint(sql)
  if (kept !== undefined && kept !== secretFingerprint(config.secret))
    return fail('secret', 'SVC_SECRET is not the secret of this database: set the one that it was set up with')
  let opened = 0
  for (const { table, read } of sealedColumns) {
    const rows = await sql(read, { limit: openedOfEach })
    for (const row of rows) {
      try {
        box.open(row.sealed, row.context)
      } catch {
        return fail(
          'secret',
          `SVC_SECRET can't decrypt the credentials in ${table}: set the secret that they were sealed with`,
        )
      }
    }
    opened += rows.length
  }
  return ok('secret', `opens the stored credentials (${opened} checked)`)
}

/** Checks the database: version, schema, clock, secret and an incomplete restore. */
export const checkDatabase = async (app: OpenApp): Promise<Check[]> => {
  const [server, schema, ...others] = await Promise.all([
    checkServer(app),
    checkSchema(app),
    checkTimeouts(app),
    checkRestore(app),
  ])
  const secret =
    schema.status === 'fail' ? warn('secret', 'not checked: the schema does not fit') : await checkSecret(app)
  return [server, ...others.flat(), schema, checkClock(app), secret]
}

/** Warns of paused queues, from which nothing leaves. It says nothing if there are none. */
export const checkQueues = async ({ sql }: OpenApp): Promise<Check[]> =>
  (await readHeld(sql)).map((queue) =>
    warn(`queue ${queue}`, `paused, so nothing in it leaves: svc queues show, then svc queues resume ${queue}`),
  )

const ofCalendar = {
  read: (fault: string) => `was read with an error: ${fault}`,
  kept: (fault: string) => `was not read: ${fault}; the times that were read last are used`,
  none: (fault: string) => `was not read: ${fault}; its busyUrl is ignored`,
} as const

/** Warns of calendars of hosts that could not be read, or only with an error. It says nothing if there are none. */
export const checkCalendars = async (app: OpenApp): Promise<Check[]> => {
  const { faultyCalendars } = await import('../../bookings/bookings.ts')
  return (await faultyCalendars(app)).map(({ accountId, projectId, blockId, fault, used }) =>
    warn('busy times', `the calendar of block ${blockId} in ${projectId} (${accountId}) ${ofCalendar[used](fault)}`),
  )
}

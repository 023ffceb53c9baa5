import type { Context } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { absent, confirmed, present, text } from '../../cli/flags.ts'
import { Problem } from '../../lib/problem.ts'
import { number } from '../../lib/quantity.ts'
import { statement } from '../../store/statement.ts'
import type { DaemonParts } from './daemon.ts'

const readName = statement(
  'read-name-of-database',
  { row: { name: 'text' } },
  'select current_database()::text as name',
)

/** Resolves when the process is asked to stop. */
const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

const serve = async (context: Context, parts: DaemonParts): Promise<void> => {
  const { startDaemon } = await import('./daemon.ts')
  const { daemonConfig } = await import('../config.ts')
  const { readExisting, readOrCreate } = await import('../open.ts')
  const daemon = await startDaemon(daemonConfig(parts.api ? readOrCreate() : readExisting()), parts)
  // Without a terminal the JSON log has a line for this.
  if (daemon.url && process.stderr.isTTY) context.out.note(`svc is ready at ${daemon.url}`)
  await stopped(context.signal)
  // The user asked for the stop, so it is not a failure, even if it is cut short.
  context.exit(0)
  await daemon.stop()
}

const portOf = (text: string): number => {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new Problem('usage', '--port must be a whole number up to 65535')
}

// Opens only the database, with any schema and secret.
const open = async ({ make = false } = {}) => {
  const { readPlaces } = await import('../config.ts')
  const { keepsSecret, keptSecret } = await import('../secret.ts')
  const { requireDatabase } = await import('../open.ts')
  const { openDatabase } = await import('../../store/database.ts')
  const places = readPlaces()
  const { databaseUrl, dataDir } = places
  if (!make) requireDatabase(places)
  else if (keepsSecret()) keptSecret(dataDir)
  const embedded = databaseUrl ? null : await (await import('../../embedded/embedded.ts')).openEmbedded(dataDir)
  const url = databaseUrl ?? embedded!.url
  const database = openDatabase(url, { max: 2, name: 'svc db' })
  const close = async () => {
    await database.close()
    await embedded?.close()
  }
  return { database, databaseUrl: url, close }
}

/** Returns the place of the database in words, and whether it exists: `svc dev`, `svc serve` and `svc db migrate` create an embedded one. */
const placeOf = async () => {
  const { readPlaces } = await import('../config.ts')
  const { findCluster } = await import('../../embedded/embedded.ts')
  const { databaseUrl, dataDir } = readPlaces()
  if (databaseUrl) return { place: new URL(databaseUrl).host, exists: true }
  return { place: `embedded in ${dataDir}`, exists: (await findCluster(dataDir)) !== undefined }
}

/** The commands `svc serve`, `svc jobs`, `svc db`, `svc openapi`: running the daemon and its database. */
export const commands: CommandList = [
  command({
    path: 'serve',
    examples: ['svc serve', 'DATABASE_URL=postgres://svc@db.example/svc svc serve --no-jobs'],
    flags: { jobs: absent('serve only the API') },
    app: 'none',
    run: (context, options) => serve(context, { api: true, jobs: options.jobs }),
  }),

  command({
    path: 'jobs run',
    summary: 'Run only the jobs; any number may share one database',
    examples: ['svc jobs run', 'svc jobs run --port 4900'],
    flags: { port: text('<n>', 'answer /healthz, /readyz and /metrics at this port') },
    app: 'none',
    run: (context, { port }) =>
      serve(context, { api: false, jobs: true, ...(port !== undefined && { probesPort: portOf(port) }) }),
  }),

  command({
    path: 'db status',
    isDefault: true,
    summary: 'Show where the database is and whether its schema is up to date',
    examples: ['svc db status', 'svc db status --json'],
    app: 'none',
    run: async ({ out, exit }) => {
      const { place, exists } = await placeOf()
      if (!exists) {
        out.note('There is no database yet: svc dev, svc serve or svc db migrate creates it.')
        out.one({ database: place, version: null, size: 0, applied: 0, pending: [], unknown: [] })
        return exit(7)
      }
      const { database, close } = await open()
      try {
        const { describeServer, schemaProblem, schemaState } = await import('../../store/schema.ts')
        const schema = await schemaState(database)
        const { applied, pending, unknown } = schema
        const state = {
          database: place,
          ...(await describeServer(database)),
          applied: applied.length,
          pending,
          unknown,
        }
        out.one(state, out.isTerminal ? { ...state, size: `${number(Math.ceil(state.size / 1e6))} MB` } : state)
        if (schemaProblem(schema)) exit(7)
      } finally {
        await close()
      }
    },
  }),

  command({
    path: 'db migrate',
    summary: 'Bring the schema up to date',
    examples: ['svc db migrate --dry-run', 'svc db migrate'],
    flags: {
      dryRun: present('show pending migrations, how long they are expected to take and which daemons must stop'),
      force: present('migrate although daemons are connected that can’t work with the new schema'),
    },
    app: 'none',
    run: async ({ out, progress }, { dryRun = false, force = false }) => {
      const app = await open({ make: !dryRun })
      try {
        const { migrateUnderDaemons, planOf, shownPlan } = await import('./migrate.ts')
        if (dryRun) {
          const plan = await planOf(app.database)
          out.one({ dryRun, ...plan }, { dryRun, ...shownPlan(plan) })
          return out.note('Nothing was changed.')
        }
        const applied = await migrateUnderDaemons(app, { force, note: out.note, progress })
        out.one({ applied, pending: [] })
      } finally {
        await app.close()
      }
    },
  }),

  command({
    path: 'db reset',
    summary: 'Empty the database: delete every account, contact and delivery',
    examples: ['svc db reset --dry-run', 'svc db reset --yes'],
    flags: confirmed(),
    app: 'none',
    run: async ({ out, confirm }, options) => {
      const app = await open()
      try {
        const [row] = await app.database.sql(readName)
        const { nameOf, readDaemons } = await import('./migrate.ts')
        const daemons = (await readDaemons(app.database)).map(nameOf)
        const planned = { database: row?.name, ...(daemons.length > 0 && { daemons }) }
        const used = daemons.length > 0 ? `, which is in use: ${daemons.join(', ')}` : ''
        if (!(await confirm(`delete everything in the database ${row?.name}${used}`, options, planned))) return
        const { migrate, resetSchema } = await import('../../store/schema.ts')
        await resetSchema(app.database)
        out.one({ applied: await migrate(app.database, app.databaseUrl) })
      } finally {
        await app.close()
      }
    },
  }),

  command({
    path: 'db stop',
    summary: 'Stop the embedded database; a running daemon starts it again',
    examples: ['svc db stop', 'SVC_DATA_DIR=/var/lib/svc svc db stop'],
    app: 'none',
    run: async ({ out }) => {
      const { stopEmbedded } = await import('../../embedded/embedded.ts')
      const { readPlaces } = await import('../config.ts')
      out.one({ database: await stopEmbedded(readPlaces().dataDir) })
    },
  }),

  command({
    path: 'openapi',
    examples: ['svc openapi > openapi.json', 'svc openapi | jq .info.version'],
    app: 'none',
    run: async ({ out }) => {
      const { openApiOf } = await import('../../http/openapi.ts')
      const { loadRoutes } = await import('../features.ts')
      const { readPlaces } = await import('../config.ts')
      out.line(JSON.stringify(openApiOf(await loadRoutes(), readPlaces().publicUrl), null, 2))
    },
  }),
]

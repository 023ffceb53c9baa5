import type { CommandSet, Context } from '../cli/command.ts'
import { Problem } from '../lib/problem.ts'
import type { DaemonParts } from './daemon.ts'

/** Resolves when the process is told to stop. */
const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

const serve = async (context: Context, parts: DaemonParts): Promise<void> => {
  const [{ startDaemon }, { readServing }] = await Promise.all([import('./daemon.ts'), import('./config.ts')])
  const daemon = await startDaemon(readServing(), parts)
  if (daemon.url) context.out.note(`svc is ready at ${daemon.url}`)
  await stopped(context.signal)
  // Stopping is what was asked for: no failure, even where it has to be cut short.
  context.exit(0)
  await daemon.stop()
}

const portOf = (text: string): number => {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new Problem('usage', '--port must be a whole number up to 65535')
}

/** `svc serve`, `svc jobs`, `svc db`, `svc openapi`: running the daemon and its database. */
export const commands: CommandSet = (cli) => {
  cli
    .noun('serve', 'Run the daemon: the API and the jobs')
    .option('--no-jobs', 'serve the API alone')
    .action(
      cli.run((context, options: { jobs: boolean }) => serve(context, { api: true, jobs: options.jobs }), {
        app: 'none',
      }),
    )

  const jobs = cli.noun('jobs', 'The background jobs: deliveries, mail, journeys, webinars, housekeeping')
  jobs
    .command('run')
    .description('Run the jobs alone; any number may share one database')
    .option('--port <n>', 'answer /healthz, /readyz and /metrics at this port')
    .action(
      cli.run(
        (context, { port }: { port?: string }) =>
          serve(context, { api: false, jobs: true, ...(port !== undefined && { probesPort: portOf(port) }) }),
        { app: 'none' },
      ),
    )

  const db = cli.noun('db', 'The database and its schema')
  // The database alone, whatever its schema and secret.
  const open = async () => {
    const [{ readPlaces }, { openDatabase }] = await Promise.all([
      import('./config.ts'),
      import('../store/database.ts'),
    ])
    const { databaseUrl, dataDir } = readPlaces()
    const embedded = databaseUrl ? null : await (await import('../store/embedded.ts')).openEmbedded(dataDir)
    const url = databaseUrl ?? embedded!.url
    const database = openDatabase(url, { max: 2, name: 'svc db' })
    const close = async () => {
      await database.close()
      await embedded?.close()
    }
    return { database, databaseUrl: url, close }
  }
  /** Where it is, in words, and whether it is made yet: an embedded one is by who needs it first. */
  const placeOf = async () => {
    const [{ readPlaces }, { findCluster }] = await Promise.all([
      import('./config.ts'),
      import('../store/embedded.cluster.ts'),
    ])
    const { databaseUrl, dataDir } = readPlaces()
    if (databaseUrl) return { place: new URL(databaseUrl).host, isMade: true }
    return { place: `embedded in ${dataDir}`, isMade: (await findCluster(dataDir)) !== undefined }
  }

  db.command('status', { isDefault: true })
    .description('Show where the database is and whether its schema is up to date')
    .action(
      cli.run(
        async ({ out, exit }) => {
          const { place, isMade } = await placeOf()
          if (!isMade) {
            out.note('There is no database yet: whoever needs it first makes it.')
            out.one({ database: place, version: null, size: 0, applied: 0, pending: [], unknown: [] })
            return exit(7)
          }
          const { database, close } = await open()
          try {
            const { schemaState } = await import('../store/schema.ts')
            const { applied, pending, unknown } = await schemaState(database)
            const [server] = await database.sql<{ version: string; size: number }>(
              `select current_setting('server_version') as version, pg_database_size(current_database()) as size`,
            )
            out.one({ database: place, ...server, applied: applied.length, pending, unknown })
            if (pending.length > 0 || unknown.length > 0) exit(7)
          } finally {
            await close()
          }
        },
        { app: 'none' },
      ),
    )

  db.command('migrate')
    .description('Bring the schema up to date')
    .option('--dry-run', 'name what is pending')
    .action(
      cli.run(
        async ({ out }, options: { dryRun?: boolean }) => {
          const app = await open()
          try {
            const { migrate, schemaState } = await import('../store/schema.ts')
            const { pending } = await schemaState(app.database)
            const applied = options.dryRun ? [] : await migrate(app.database, app.databaseUrl)
            out.one({ applied, pending: options.dryRun ? pending : [] })
          } finally {
            await app.close()
          }
        },
        { app: 'none' },
      ),
    )

  db.command('reset')
    .description('Empty the database: every account, contact and delivery goes')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(
        async ({ out, confirm }, options: { yes?: boolean; dryRun?: boolean }) => {
          const app = await open()
          try {
            const [row] = await app.database.sql<{ name: string }>('select current_database() as name')
            const planned = { database: row?.name }
            if (!(await confirm(`delete everything in the database ${row?.name}`, options, planned))) return
            const { migrate, resetSchema } = await import('../store/schema.ts')
            await resetSchema(app.database)
            out.one({ applied: await migrate(app.database, app.databaseUrl) })
          } finally {
            await app.close()
          }
        },
        { app: 'none' },
      ),
    )

  db.command('stop')
    .description('Stop the embedded database; a daemon that still uses it starts it again')
    .action(
      cli.run(
        async ({ out }) => {
          const [{ stopEmbedded }, { readConfig }] = await Promise.all([
            import('../store/embedded.ts'),
            import('./config.ts'),
          ])
          out.one({ database: await stopEmbedded(readConfig().dataDir) })
        },
        { app: 'none' },
      ),
    )

  cli.noun('openapi', 'Print the OpenAPI document of the REST API').action(
    cli.run(
      async ({ out }) => {
        const [{ openApiOf }, { loadRoutes }, { readPlaces }] = await Promise.all([
          import('../http/openapi.ts'),
          import('./features.ts'),
          import('./config.ts'),
        ])
        out.line(JSON.stringify(openApiOf(await loadRoutes(), readPlaces().publicUrl), null, 2))
      },
      { app: 'none' },
    ),
  )
}

import type { CommandSet, Context } from '../cli/command.ts'

/** Resolves when the process is told to stop. */
const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

const serve = async (context: Context, parts: { api: boolean; jobs: boolean }): Promise<void> => {
  const [{ startDaemon }, { readConfig }] = await Promise.all([import('./daemon.ts'), import('./config.ts')])
  const daemon = await startDaemon(readConfig(), parts)
  if (daemon.url) context.out.note(`svc is ready at ${daemon.url}`)
  await stopped(context.signal)
  await daemon.stop()
  // Stopping on SIGTERM is what was asked for: no failure.
  context.exit(0)
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

  const jobs = cli.noun('jobs', 'The background jobs: deliveries, housekeeping')
  jobs
    .command('run')
    .description('Run the jobs alone; any number may share one database')
    .action(cli.run((context) => serve(context, { api: false, jobs: true }), { app: 'none' }))

  const db = cli.noun('db', 'The database and its schema')
  const open = async () => {
    const [{ openApp }, { readConfig }] = await Promise.all([import('./app.ts'), import('./config.ts')])
    return openApp(readConfig(), { schema: 'ignore', connections: 2 })
  }

  db.command('status', { isDefault: true })
    .description('Show where the database is and whether its schema is up to date')
    .action(
      cli.run(
        async ({ out, exit }) => {
          const app = await open()
          try {
            const { schemaState } = await import('../store/schema.ts')
            const { applied, pending } = await schemaState(app.database)
            const [server] = await app.sql<{ version: string; size: number }>(
              `select current_setting('server_version') as version, pg_database_size(current_database()) as size`,
            )
            const embedded = app.config.databaseUrl === null
            out.one({
              database: embedded ? `embedded in ${app.config.dataDir}` : new URL(app.databaseUrl).host,
              ...server,
              applied: applied.length,
              pending,
            })
            if (pending.length > 0) exit(7)
          } finally {
            await app.close()
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
            const pending = (await schemaState(app.database)).pending
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
            const [row] = await app.sql<{ name: string }>('select current_database() as name')
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
    cli.run(async ({ app, out }) => {
      const [{ buildServer }, { loadRoutes }, { createLogger }] = await Promise.all([
        import('../http/server.ts'),
        import('./features.ts'),
        import('./log.ts'),
      ])
      const server = await buildServer(app, await loadRoutes(), createLogger('silent'))
      out.line(JSON.stringify(server.fastify.swagger(), null, 2))
      await server.drain()
    }),
  )
}

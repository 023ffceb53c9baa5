import { once } from 'node:events'
import type { CommandSet, Context } from '../cli/command.ts'
import type { Development } from './dev.ts'

/** Another terminal has to name what this one was told by its environment. */
const environmentPrefix = (): string => {
  const { SVC_DATA_DIR: dataDir, DATABASE_URL: databaseUrl } = process.env
  return dataDir && !databaseUrl ? `SVC_DATA_DIR=${dataDir} ` : ''
}

const introduction = ({ config, url, consoleUrl, catcherUrl, key, listId }: Development): string => {
  const contact = JSON.stringify({ listId, email: 'ada@sample.example', fields: { first_name: 'Ada' } })
  const svc = `${environmentPrefix()}npx svc`
  const upsert = `curl ${url}/api/v1/contacts -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${contact}'`
  const lists = `curl ${url}/api/v1/lists -H 'Authorization: Bearer ${key}'`
  return `svc is ready

  API        ${url}/api/v1
  Docs       ${url}/docs  (for programs: ${url}/openapi.json)
  Console    ${consoleUrl}  (webhooks, mail, API calls, the clock, as they go)
  Webhooks   ${consoleUrl}  (each delivery, as it arrives)
  Mail       ${catcherUrl ? `${catcherUrl}  (all mail is caught: svc mail, and ${consoleUrl}/mail)` : 'leaves by SVC_SMTP_URL'}
  Database   ${config.databaseUrl ? new URL(config.databaseUrl).host : `embedded, in ${config.dataDir}`}
  Demo key   ${key}  (account demo)

Try, in another terminal:

  ${listId ? upsert : lists}
  printf 'E-mail,First\\nmaya@sample.example,Maya\\n' | ${svc} contacts import - --create-list --list Customers --map "E-mail=email,First=first_name"
  ${svc} send --project Welcome --to you@example.com --data name=Ada

Ctrl-C stops it; the data stays. Requests are shown here as they come.`
}

const dev = async (context: Context): Promise<void> => {
  const { startDevelopment } = await import('./dev.ts')
  const development = await startDevelopment(process.env)
  context.exit(0)
  if (!context.signal.aborted) {
    context.out.line(introduction(development))
    await once(context.signal, 'abort')
  }
  await development.stop()
}

/** `svc dev`: everything on this machine, to try it and to build against it. */
export const commands: CommandSet = (cli) => {
  cli.noun('dev').action(cli.run((context) => dev(context), { app: 'none' }))
}

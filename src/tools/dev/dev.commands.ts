import { once } from 'node:events'
import { resolve } from 'node:path'
import { type CommandSet, type Context, examples } from '../../cli/command.ts'
import { invocation } from '../../cli/next.ts'
import { span } from '../../cli/output.ts'
import type { Development } from './dev.ts'

/** Returns the settings that commands in another terminal need, if this environment sets the data folder. */
const environmentPrefix = (): string => {
  const { SVC_DATA_DIR: dataDir, DATABASE_URL: databaseUrl } = process.env
  return dataDir && !databaseUrl ? `SVC_DATA_DIR=${resolve(dataDir)} ` : ''
}

const introduction = ({ config, url, consoleUrl, catcherUrl, key, list, aheadMs }: Development): string => {
  const svc = `${environmentPrefix()}${invocation()}`
  const ahead = aheadMs > 0 ? `\n  Clock      ${span(aheadMs)} ahead of the system (svc clock reset)` : ''
  return `svc is ready

  API        ${url}/api/v1
  Docs       ${url}/docs
  OpenAPI    ${url}/openapi.json
  Console    ${consoleUrl}  (email, webhooks, API calls: start here)
  Webhooks   ${consoleUrl}  (each delivery, as it arrives)
  Mail       ${catcherUrl ? `${catcherUrl}  (all email is caught: svc mail list)` : 'email leaves by SVC_SMTP_URL'}
  Database   ${config.databaseUrl ? new URL(config.databaseUrl).host : `embedded, in ${config.dataDir}`}${ahead}
  Account    demo
  Demo key   ${key}
Try, in another terminal${invocation() === 'npx svc' ? ', in this folder' : ''}:
  ${svc} send --project Welcome --to you@example.com
  ${svc} ${list ? `contacts upsert --list ${list} --email ada@sample.example` : 'lists create --name Customers'}
  ${svc} deals board
Ctrl-C stops it; the data stays. Requests are shown here as they arrive.`
}

const dev = async (context: Context, { dataDir }: { dataDir?: string }): Promise<void> => {
  // The printed commands and the threads of the jobs need the setting.
  if (dataDir !== undefined) process.env.SVC_DATA_DIR = resolve(dataDir)
  const { startDevelopment } = await import('./dev.ts')
  const development = await startDevelopment(process.env)
  context.exit(0)
  if (!context.signal.aborted) {
    context.out.line(introduction(development))
    await once(context.signal, 'abort')
  }
  await development.stop()
}

/** `svc dev`: the whole service on this machine, for trials and development. */
export const commands: CommandSet = (cli) => {
  cli
    .noun('dev')
    .addHelpText('after', examples('svc dev', 'SVC_PORT=5000 svc dev'))
    .option('--data-dir <folder>', 'keep the data in this folder (default: SVC_DATA_DIR, or ./.svc)')
    .action(cli.run(dev, { app: 'none' }))
}

import { once } from 'node:events'
import { relative, resolve } from 'node:path'
import type { Context } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { text } from '../../cli/flags.ts'
import { invocation } from '../../cli/next.ts'
import { span } from '../../cli/output.ts'
import { Problem } from '../../lib/problem.ts'
import { shellWord } from '../../lib/shell.ts'
import type { Development } from './dev.ts'

/** Returns the setting that commands in another terminal need, if this environment sets the data folder. */
const neededSetting = (): string => {
  const { SVC_DATA_DIR: dataDir, DATABASE_URL: databaseUrl } = process.env
  return dataDir && !databaseUrl ? `  export SVC_DATA_DIR=${shellWord(resolve(dataDir))}\n` : ''
}

const databaseOf = ({ databaseUrl, dataDir }: Development['config']): string => {
  if (databaseUrl) return new URL(databaseUrl).host
  const inside = relative('.', dataDir)
  return `embedded, in ${inside.startsWith('..') ? dataDir : `./${inside}`}`
}

/** Half a screen of 24 lines. */
const introduction = ({ config, url, consoleUrl, catcherUrl, key, list, aheadMs }: Development): string => {
  const svc = invocation()
  const ahead = aheadMs > 0 ? `\n  Clock      ${span(aheadMs)} ahead of the system (svc clock reset)` : ''
  return `svc is ready
  Console    ${consoleUrl}  (email, webhooks, API calls: start here)
  API        ${url}/api/v1
  Docs       ${url}/docs
  Email      ${catcherUrl ? `caught at ${catcherUrl}: nothing leaves this machine` : 'leaves by SVC_SMTP_URL'}
  Database   ${databaseOf(config)}${ahead}
  Demo key   ${key}
Try, in another terminal${svc === 'npx svc' ? ', in this folder' : ''}:
${neededSetting()}  ${svc} send --project Welcome --to you@example.com
  ${svc} ${list ? `contacts upsert --list ${list} --email ada@sample.example` : 'lists create --name Customers'}
  ${svc} deals board
Ctrl-C stops it; the data stays. Requests are shown here as they arrive.`
}

const dev = async (context: Context, { dataDir }: { dataDir?: string }): Promise<void> => {
  if (dataDir === '') throw new Problem('usage', '--data-dir must not be empty')
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

/** The command `svc dev`: the whole service on this machine, for trials and development. */
export const commands: CommandList = [
  command({
    path: 'dev',
    examples: ['svc dev', 'SVC_PORT=5000 svc dev'],
    flags: { dataDir: text('<folder>', 'keep the data in this folder (default: SVC_DATA_DIR, or ./.svc)') },
    app: 'none',
    run: dev,
  }),
]

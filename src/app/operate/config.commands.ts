import type { CommandSet } from '../../cli/command.ts'
import type { Cell, Column } from '../../cli/output.ts'
import type { Setting } from '../config.ts'

const shown = (value: unknown): Cell => (Array.isArray(value) ? value.join(', ') : (value as Cell))

const columns: Column<Setting>[] = [
  ['NAME', (setting) => setting.name],
  ['VALUE', (setting) => shown(setting.value)],
  ['SOURCE', (setting) => setting.source],
]

/** `svc config` (cli.md, Commands). */
export const commands: CommandSet = (cli) => {
  cli.noun('config').action(
    cli.run(
      async ({ out }) => {
        const { readSettings } = await import('../config.ts')
        await out.list('settings', readSettings(), columns)
      },
      { app: 'none' },
    ),
  )
}

import { type CommandSet, examples } from '../../cli/command.ts'
import type { Cell, Column } from '../../cli/output.ts'
import type { Setting } from '../config.ts'

const shown = (value: unknown): Cell =>
  Array.isArray(value) ? value.join(', ') : typeof value === 'number' ? String(value) : (value as Cell)

const columns: Column<Setting>[] = [
  ['NAME', (setting) => setting.name],
  ['VALUE', (setting) => shown(setting.value)],
  ['SOURCE', (setting) => setting.source],
]

/** `svc config` (docs/reference/cli.md#status-doctor-and-config). */
export const commands: CommandSet = (cli) => {
  cli
    .noun('config')
    .addHelpText('after', examples('svc config', 'svc config --json'))
    .action(
      cli.run(
        async ({ out }) => {
          const { readSettings } = await import('../config.ts')
          await out.list('settings', readSettings(), columns)
        },
        { app: 'none' },
      ),
    )
}

import { type CommandList, command } from '../../cli/define.ts'
import type { Cell, Column } from '../../cli/output.ts'
import type { Setting } from '../config.ts'

const shown = (value: unknown): Cell =>
  Array.isArray(value) ? value.join(', ') : typeof value === 'number' ? String(value) : (value as Cell)

const columns: Column<Setting>[] = [
  ['NAME', (setting) => setting.name],
  ['VALUE', (setting) => shown(setting.value)],
  ['SOURCE', (setting) => setting.source],
]

/** The command `svc config` (docs/reference/cli.md#status-doctor-and-config). */
export const commands: CommandList = [
  command({
    path: 'config',
    examples: ['svc config', 'svc config --json'],
    app: 'none',
    run: async ({ out }) => {
      const { readSettings } = await import('../config.ts')
      await out.list('settings', readSettings(), columns)
    },
  }),
]

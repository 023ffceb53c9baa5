import { type CommandList, command } from '../../cli/define.ts'
import type { Column } from '../../cli/output.ts'
import type { Check } from './doctor.check.ts'

const columns: Column<Check>[] = [
  ['STATUS', (check) => check.status],
  ['CHECK', (check) => check.name],
  ['FOUND', (check) => check.message],
]

/** The command `svc doctor` (docs/reference/cli.md#status-doctor-and-config). */
export const commands: CommandList = [
  command({
    path: 'doctor',
    examples: ['svc doctor', 'svc doctor --json'],
    app: 'none',
    run: async ({ out, exit }) => {
      const { examine } = await import('./doctor.ts')
      const checks = await examine()
      await out.list('checks', checks, columns)
      if (checks.some(({ status }) => status === 'fail')) exit(1)
    },
  }),
]

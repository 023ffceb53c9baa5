import { type CommandSet, examples } from '../../cli/command.ts'
import type { Column } from '../../cli/output.ts'
import type { Check } from './doctor.check.ts'

const columns: Column<Check>[] = [
  ['STATUS', (check) => check.status],
  ['CHECK', (check) => check.name],
  ['FOUND', (check) => check.message],
]

/** `svc doctor` (docs/reference/cli.md#status-doctor-and-config). */
export const commands: CommandSet = (cli) => {
  cli
    .noun('doctor')
    .addHelpText('after', examples('svc doctor', 'svc doctor --json'))
    .action(
      cli.run(
        async ({ out, exit }) => {
          const { examine } = await import('./doctor.ts')
          const checks = await examine()
          await out.list('checks', checks, columns)
          if (checks.some(({ status }) => status === 'fail')) exit(1)
        },
        { app: 'none' },
      ),
    )
}

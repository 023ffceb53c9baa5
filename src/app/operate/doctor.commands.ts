import type { CommandSet } from '../../cli/command.ts'
import type { Column } from '../../cli/output.ts'
import type { Check } from './doctor.check.ts'

const columns: Column<Check>[] = [
  ['STATUS', (check) => check.status],
  ['CHECK', (check) => check.name],
  ['FOUND', (check) => check.message],
]

/** `svc doctor` (cli.md, Commands). */
export const commands: CommandSet = (cli) => {
  cli.noun('doctor').action(
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

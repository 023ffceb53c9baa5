import { type CommandSet, examples } from '../../cli/command.ts'
import { type Output, span } from '../../cli/output.ts'
import type { ClockView } from '../../store/clock.ts'

const print = (out: Output, view: ClockView) => {
  const { now, offsetMs } = view
  const ahead = out.isTerminal ? span(offsetMs) : `${Math.round(offsetMs / 1000)} s`
  out.one(view, { now: new Date(now), 'ahead of the system by': ahead })
}

/** `svc clock`: the clock of a development database. */
export const commands: CommandSet = (cli) => {
  const clock = cli.noun('clock')

  clock
    .command('show', { isDefault: true })
    .description('Show the time of the development database')
    .addHelpText('after', examples('svc clock', 'svc clock show --json'))
    .action(
      cli.run(async ({ app, out }) => {
        const { showClock } = await import('../../store/clock.ts')
        print(out, await showClock(app.sql))
      }),
    )

  clock
    .command('advance <duration>')
    .description('Move the clock forward by a duration: 30m, 2h, 2d, 1w, 4m50s')
    .addHelpText('after', examples('svc clock advance 2d', 'svc clock advance 4m50s --json'))
    .action(
      cli.run(
        async ({ app, out }, duration: string) => {
          const [{ advanceClock }, { parseDuration }] = await Promise.all([
            import('../../store/clock.ts'),
            import('../../lib/since.ts'),
          ])
          print(out, await advanceClock(app.database, parseDuration(duration)))
        },
        { account: 'none' },
      ),
    )

  clock
    .command('reset')
    .description("Set the clock back to the system's time")
    .addHelpText('after', examples('svc clock reset', 'svc clock reset --json'))
    .action(
      cli.run(async ({ app, out }) => {
        const { resetClock } = await import('../../store/clock.ts')
        print(out, await resetClock(app.database))
      }),
    )
}

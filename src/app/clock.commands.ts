import type { CommandSet } from '../cli/command.ts'
import type { Output } from '../cli/output.ts'
import type { ClockView } from '../store/clock.ts'

const print = (out: Output, view: ClockView) => {
  const { now, offsetMs } = view
  out.one(view, { now: new Date(now).toISOString(), 'ahead of the system by': `${Math.round(offsetMs / 1000)} s` })
}

/** `svc clock`: the time of a development database, which everything in it follows. */
export const commands: CommandSet = (cli) => {
  const clock = cli.noun('clock')

  clock
    .command('show', { isDefault: true })
    .description('Show what time it is there')
    .action(
      cli.run(async ({ app, out }) => {
        const { showClock } = await import('../store/clock.ts')
        print(out, await showClock(app.sql))
      }),
    )

  clock
    .command('advance <duration>')
    .description('Move it on: 30m, 2h, 2d, 1w')
    .action(
      cli.run(async ({ app, out }, duration: string) => {
        const [{ advanceClock }, { parseDuration }] = await Promise.all([
          import('../store/clock.ts'),
          import('../lib/since.ts'),
        ])
        print(out, await advanceClock(app.sql, parseDuration(duration)))
      }),
    )

  clock
    .command('reset')
    .description("Back to the system's time")
    .action(
      cli.run(async ({ app, out }) => {
        const { resetClock } = await import('../store/clock.ts')
        print(out, await resetClock(app.sql))
      }),
    )
}

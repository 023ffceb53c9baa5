import { type CommandList, command } from '../../cli/define.ts'
import { argument } from '../../cli/flags.ts'
import { type Output, span } from '../../cli/output.ts'
import type { ClockView } from '../../store/clock.ts'

const print = (out: Output, view: ClockView) => {
  const { now, offsetMs } = view
  const ahead = out.isTerminal ? span(offsetMs) : `${Math.round(offsetMs / 1000)} s`
  out.one(view, { now: new Date(now), 'ahead of the system by': ahead })
}

/** The commands `svc clock`, for the clock of a development database. */
export const commands: CommandList = [
  command({
    path: 'clock show',
    isDefault: true,
    summary: 'Show the time of the development database',
    examples: ['svc clock', 'svc clock show --json'],
    run: async ({ app, out }) => {
      const { showClock } = await import('../../store/clock.ts')
      print(out, await showClock(app.sql))
    },
  }),

  command({
    path: 'clock advance',
    summary: 'Move the clock forward by a duration: 30m, 2h, 2d, 1w, 4m50s',
    examples: ['svc clock advance 2d', 'svc clock advance 4m50s --json'],
    arguments: [argument('<duration>')],
    account: 'none',
    run: async ({ app, out }, duration) => {
      const [{ advanceClock }, { parseDuration }] = await Promise.all([
        import('../../store/clock.ts'),
        import('../../lib/since.ts'),
      ])
      print(out, await advanceClock(app.database, parseDuration(duration)))
    },
  }),

  command({
    path: 'clock reset',
    summary: "Set the clock back to the system's time",
    examples: ['svc clock reset', 'svc clock reset --json'],
    run: async ({ app, out }) => {
      const { resetClock } = await import('../../store/clock.ts')
      print(out, await resetClock(app.database))
    },
  }),
]

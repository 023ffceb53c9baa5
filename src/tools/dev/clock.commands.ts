import { type CommandList, command } from '../../cli/define.ts'
import { argument, unasked } from '../../cli/flags.ts'
import { type Output, span } from '../../cli/output.ts'
import { parseDuration } from '../../lib/since.ts'
import type { ClockView } from '../../store/clock.ts'

const print = (out: Output, view: ClockView & { dryRun?: true }) => {
  const { now, offsetMs, ...more } = view
  const ahead = out.isTerminal ? span(offsetMs) : `${Math.round(offsetMs / 1000)} s`
  out.one(view, { ...more, now: new Date(now), 'ahead of the system by': ahead })
}

const printTrial = (out: Output, view: ClockView) => {
  print(out, { dryRun: true, ...view })
  out.note('Nothing was changed.')
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
    flags: unasked('show the time that it would be, and change nothing'),
    run: async ({ app, out }, duration, { dryRun }) => {
      const { advanceClock, clockAfter } = await import('../../store/clock.ts')
      const ms = parseDuration(duration)
      if (!dryRun) return print(out, await advanceClock(app.database, ms))
      printTrial(out, await clockAfter(app.sql, ms))
    },
  }),

  command({
    path: 'clock reset',
    summary: "Set the clock back to the system's time",
    examples: ['svc clock reset', 'svc clock reset --json'],
    flags: unasked('show the time that it would be, and change nothing'),
    run: async ({ app, out }, { dryRun }) => {
      const { resetClock, showClock } = await import('../../store/clock.ts')
      if (!dryRun) return print(out, await resetClock(app.database))
      const { now, offsetMs } = await showClock(app.sql)
      printTrial(out, { now: now - offsetMs, offsetMs: 0 })
    },
  }),
]

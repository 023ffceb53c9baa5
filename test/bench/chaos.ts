import { runChaos } from '../daemon/chaos/chaos.ts'
import { openCluster } from '../daemon/chaos/cluster.ts'
import { missingPrograms, openPatroni } from '../daemon/patroni/cluster.ts'

/**
 * `npm run bench chaos [seed=…] [seconds=…] [faults=freeze,cut,…] [server=patroni [watchdog=true] [patroni=<path>]]`:
 * returns the exit status.
 */
export const chaos = async (args: readonly string[]): Promise<number> => {
  const given = new Map(args.map((arg) => arg.split('=') as [string, string]))
  const seed = Number(given.get('seed') ?? process.env.SVC_CHAOS_SEED ?? Date.now() % 1_000_000)
  const seconds = Number(given.get('seconds') ?? process.env.SVC_CHAOS_SECONDS ?? 60)
  const say = (line: string) => process.stderr.write(`${line}\n`)
  say(`chaos of ${seconds} s, seed ${seed}`)
  // The exit handler of this process ends the started processes; a signal without a handler skips it.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  const missing = given.get('server') === 'patroni' ? await missingPrograms(given.get('patroni')) : null
  if (missing) {
    say(missing)
    return 0
  }
  const onReset = given.get('watchdog') === 'true' ? (name: string) => say(`the watchdog resets ${name}`) : undefined
  const cluster =
    given.get('server') === 'patroni'
      ? await openPatroni({ program: given.get('patroni'), onReset })
      : await openCluster()
  try {
    const { violations, summary, report } = await runChaos(cluster, {
      seed,
      seconds,
      only: given.get('faults')?.split(','),
    })
    for (const line of summary) say(line)
    for (const violation of violations) say(`VIOLATED: ${violation}`)
    if (report) say(`To repeat it: npm run bench chaos seed=${seed} seconds=${seconds}. More in ${report}`)
    return violations.length > 0 ? 1 : 0
  } finally {
    await cluster.close()
  }
}

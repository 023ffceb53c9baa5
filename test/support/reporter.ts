import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** Prints why tests were skipped, and how to repeat a run that failed. */
export class EndReporter implements Reporter {
  #vitest!: Vitest

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const { logger, config } = this.#vitest
    const counts = new Map<string, number>()
    for (const module of modules)
      for (const test of module.children.allTests('skipped')) {
        const { skipped } = test.meta()
        if (skipped) counts.set(skipped, (counts.get(skipped) ?? 0) + 1)
      }
    const lines = [...counts]
      .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
      .map(([reason, count]) => `${count} × ${reason}`)
    if (lines.length > 0) logger.log(`Skipped tests:\n${lines.map((line) => `  ${line}\n`).join('')}`)
    if (errors.length > 0 || modules.some((module) => !module.ok()))
      logger.log(`TEST_SEED=${config.sequence.seed} repeats the random numbers of this run.\n`)
  }
}

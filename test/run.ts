// `npm test [-- <arguments of vitest>]`: the first tier, and the checks of types and style beside it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { totalmem } from 'node:os'
import { text } from 'node:stream/consumers'
// Measures before anything else runs; the tests read the result from TEST_SLOWNESS.
import './support/slowness.ts'
import './support/compiler.ts'

// These tests mostly wait, in one process for each worker, which takes up to 600 MB.
process.env.TEST_WORKERS ??= totalmem() < 8 * 2 ** 30 ? '4' : '6'

/** Each command has a process group of its own: a signal also reaches the processes that it has started. */
const start = (command: string, args: string[], stdio: 'inherit' | 'pipe'): ChildProcess =>
  spawn(command, args, { stdio: ['ignore', stdio, stdio], detached: true })

const checks = ['types', 'style'].map((script) => start('node', ['--run', script], 'pipe'))
const tests = start('vitest', ['run', '--exclude', '**/*.system.test.ts', ...process.argv.slice(2)], 'inherit')

// This process waits until they have ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    for (const { pid, exitCode, signalCode } of [...checks, tests])
      if (exitCode === null && signalCode === null) process.kill(-pid!, signal)
  })

const hasPassed = async (child: ChildProcess): Promise<boolean> => (await once(child, 'close'))[0] === 0
const outcomeOf = async (check: ChildProcess) => {
  const [passed, ...output] = await Promise.all([hasPassed(check), text(check.stdout!), text(check.stderr!)])
  return { passed, output: output.join('') }
}
// Their output comes last: vitest redraws parts of the terminal.
const [testsPassed, ...outcomes] = await Promise.all([hasPassed(tests), ...checks.map(outcomeOf)])
const failures = outcomes.filter(({ passed }) => !passed)
for (const { output } of failures) process.stdout.write(output)
process.stdout.write(`Types and style: ${failures.length === 0 ? 'passed' : 'failed'}\n`)
process.exitCode = testsPassed && failures.length === 0 ? 0 : 1

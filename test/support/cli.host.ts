import { Readable } from 'node:stream'
import { loadCommands } from '../../src/app/commands.ts'
import { openForCommand } from '../../src/app/open.ts'
import { buildProgram, runProgram } from '../../src/cli/program.ts'

/*
 * Runs commands one after the other as `bin/svc.ts` does, each with its own environment, folder and pipes, in a process that
 * has loaded its modules once. What a process of its own is about (signals, pipes that break, an end that comes) is tested with one.
 */

export interface Asked {
  args: readonly string[]
  env: Record<string, string>
  cwd: string
  /** The bytes as base64. */
  stdin: string
}

const open = openForCommand
const loadChoices = async () => (await import('../../src/app/choices.ts')).choicesOf

/** Captures what is written to a stream. `text` returns the captured text and restores the stream. */
const capture = (stream: NodeJS.WriteStream) => {
  const { write } = stream
  const parts: Buffer[] = []
  stream.write = ((chunk: string | Uint8Array, encoding?: unknown, done?: unknown) => {
    parts.push(Buffer.from(chunk as string))
    const called = typeof encoding === 'function' ? encoding : done
    if (typeof called === 'function') process.nextTick(called as () => void)
    return true
  }) as typeof write
  return () => {
    stream.write = write
    return Buffer.concat(parts).toString()
  }
}

const run = async ({ args, env, cwd, stdin }: Asked) => {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  process.argv = [process.execPath, 'svc', ...args]
  process.exitCode = undefined
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([Buffer.from(stdin, 'base64')]) })
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  let failure: unknown
  try {
    await runProgram(buildProgram(await loadCommands(args), open, loadChoices), process.argv)
  } catch (error) {
    failure = error
  }
  const status = failure ? 1 : Number(process.exitCode ?? 0)
  process.exitCode = 0
  const ran = { status, stdout: stdout(), stderr: stderr() }
  return failure ? { ...ran, stderr: `${ran.stderr}${(failure as Error).stack}` } : ran
}

process.stdout.setMaxListeners(0)
process.on('message', async (asked: Asked) => process.send!(await run(asked)))
process.on('disconnect', () => process.exit())

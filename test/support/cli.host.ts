import { PassThrough, Readable, Writable } from 'node:stream'
import { WriteStream } from 'node:tty'
import type { OpenApp } from '../../src/app/app.ts'
import { openForCommand } from '../../src/app/open.ts'
import { buildProgram, runProgram } from '../../src/cli/program.ts'
import { loadCommands } from '../../src/tools/commands.ts'

/*
 * Runs commands one after the other as `bin/svc.ts` does, each with its own environment, folder and input, and with pipes or a terminal,
 * in a process that has loaded its modules once. What a process of its own is about (signals, pipes that break, a real terminal) is
 * tested with one.
 */

export interface Size {
  columns: number
  rows: number
}

export interface Command {
  args: readonly string[]
  env: Record<string, string>
  cwd: string
  stdin: string | Buffer
  /** Input and output are a terminal of that size. */
  tty: Size | null
  /** The app stays open for later commands. */
  keepsApp: boolean
}

/** A command, keys to type, or that the kept app is to be closed. */
export type Request = { run: Command } | { type: string } | { closesApp: true }

/** Output of the command (`echo`: what a terminal shows of what is typed), or its end, after which the host may end, too. */
export type Report =
  | { from: 'stdout' | 'stderr' | 'echo'; chunk: Buffer }
  | { status: number; endsHost: boolean }
  | { closedApp: true }

const loadChoices = async () => (await import('../../src/tools/choice-values.ts')).choicesOf
const loadLookups = async () => (await import('../../src/tools/command-lookups.ts')).lookups
const exit = process.exit.bind(process)

const report = (message: Report, done?: () => void) => void process.send!(message, undefined, undefined, done)

const replace = (name: 'stdin' | 'stdout' | 'stderr', value: Readable | Writable) =>
  Object.defineProperty(process, name, { configurable: true, value })

const openOutput = (from: 'stdout' | 'stderr', tty: Size | null): Writable => {
  const stream = new Writable({
    write(chunk, _, done) {
      report({ from, chunk })
      done()
    },
  })
  const { hasColors, getColorDepth } = WriteStream.prototype
  // Streams that are piped into stdout do not end it.
  return Object.assign(stream, { _isStdio: true, ...(tty && { isTTY: true, ...tty, hasColors, getColorDepth }) })
}

/** The input of a terminal. Unless a program has set it to raw mode, it shows what is typed, and Ctrl-C is a signal. */
const openKeyboard = () => {
  const stream = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(isRaw: boolean) {
      stream.isRaw = isRaw
      return stream
    },
  })
  const type = (keys: string) => {
    if (stream.isRaw) stream.write(keys)
    else if (keys === '\u0003') process.kill(process.pid, 'SIGINT')
    else {
      const typed = keys.replaceAll('\r', '\n')
      report({ from: 'echo', chunk: Buffer.from(typed) })
      stream.write(typed)
    }
  }
  return { stream, type }
}

let type: (keys: string) => void = () => {}

/**
 * The prompts choose the colours of their marks when they are loaded, for all later commands of this process: they are loaded without
 * colours, so that what a test sees does not depend on the commands before it. The environment is empty.
 */
const loadPrompts = async () => {
  process.env.NO_COLOR = '1'
  await import('@inquirer/prompts')
  delete process.env.NO_COLOR
}

let kept: { settings: string; app: OpenApp } | undefined

const closeKept = async () => {
  const app = kept?.app
  kept = undefined
  await app?.close()
}

/** Returns the app of the command before, if that had the same settings. */
const openKept = async (): Promise<OpenApp> => {
  const own = Object.entries(process.env).filter(([name]) => /^(DATABASE_URL|SVC_.*)$/.test(name))
  const settings = JSON.stringify([process.cwd(), own])
  if (kept?.settings !== settings) {
    await closeKept()
    kept = { settings, app: await openForCommand() }
  }
  const { app } = kept
  return Object.create(app, {
    close: { value: async () => (kept?.app === app ? undefined : app.close()) },
    // What ends with the app works in the background until then.
    onClose: {
      value: (end: () => Promise<void>) => {
        kept = undefined
        app.onClose(end)
      },
    },
  })
}

const run = async ({ args, env, cwd, stdin, tty, keepsApp }: Command) => {
  for (const name of Object.keys(process.env)) delete process.env[name]
  if (tty) await loadPrompts()
  Object.assign(process.env, env)
  process.chdir(cwd)
  process.argv = [process.execPath, 'svc', ...args]
  process.exitCode = undefined
  const keyboard = tty && openKeyboard()
  type = keyboard?.type ?? type
  replace('stdin', keyboard?.stream ?? Readable.from([Buffer.from(stdin)]))
  replace('stdout', openOutput('stdout', tty))
  replace('stderr', openOutput('stderr', tty))
  let failure: unknown
  try {
    const open = keepsApp ? openKept : openForCommand
    await runProgram(buildProgram(await loadCommands(args), open, loadChoices, loadLookups), process.argv)
  } catch (error) {
    failure = error
    process.stderr.write(`${(error as Error).stack}\n`)
  }
  const status = failure ? 1 : Number(process.exitCode ?? 0)
  process.exitCode = 0
  return status
}

// A command that is interrupted ends its process. Nothing that it does afterwards counts.
let isEnding = false
process.exit = ((code?: number) => {
  if (isEnding) return
  isEnding = true
  const status = code ?? Number(process.exitCode ?? 0)
  process.emit('exit', status)
  report({ status, endsHost: true }, () => exit())
}) as typeof process.exit

process.on('message', async (request: Request) => {
  if ('type' in request) return type(request.type)
  if ('closesApp' in request) {
    await closeKept()
    return report({ closedApp: true })
  }
  const status = await run(request.run)
  if (!isEnding) report({ status, endsHost: false })
})
process.on('disconnect', () => exit())

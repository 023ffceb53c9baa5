import { readFileSync } from 'node:fs'
import { Command, CommanderError, Help } from 'commander'
import { Problem } from '../lib/problem.ts'
import type { Cli, CommandSet } from './command.ts'
import { fullCommand } from './next.ts'
import { type Open, reportFailure, runner } from './run.ts'

/** The version of the package. */
export const version = (): string => {
  // One folder up from src/ in a checkout, two up from dist/src/ in a published package.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version
    } catch {}
  }
  return 'unknown'
}

/** Asked before anything is parsed: a flag that is wrong is told in JSON as well. */
const asksJson = (): boolean => process.argv.includes('--json') || process.argv.includes('--jsonl')

/** The whole `svc` program: the conventions here, the commands from the features. */
export const buildProgram = (sets: readonly CommandSet[], open: Open): Command => {
  const program = new Command('svc')
  program
    .description('Email, contacts, deals, journeys, webinars, courses and webhooks: the dashboard in a terminal')
    .version(version(), '-V, --version')
    .option('--account <id|name>', 'the account to work on (or SVC_ACCOUNT)')
    .option('--json', 'print JSON: one object, in the shape of the REST API')
    .option('--jsonl', 'print one JSON object a line')
    .option('-q, --quiet', 'print ids only')
    .option('--no-color', 'print without colour (or NO_COLOR)')
    .option('--no-pager', 'print long lists as they are; else they are paged by PAGER')
    .helpCommand(true)
    // Nouns have no arguments of their own; their verbs are shown with theirs.
    .configureHelp({ subcommandTerm: (c) => (c.parent === program ? c.name() : Help.prototype.subcommandTerm(c)) })
    .configureOutput({
      writeErr: (text) => (asksJson() ? undefined : process.stderr.write(text)),
      // Told where all failures are, with what to do next.
      outputError: () => {},
    })
  const run = runner(open)
  const cli: Cli = {
    noun: (name) => program.commands.find((command) => command.name() === name) ?? program.command(name),
    run: run as Cli['run'],
  }
  for (const set of sets) set(cli)
  throwing(program)
  inherit(program)
  return program
}

/** What the parser refuses, and of which command. */
type Misuse = CommanderError & { command: Command }

/** Every command throws instead of exiting, so that usage errors get their status in one place. */
const throwing = (command: Command): void => {
  command.exitOverride((error) => {
    throw Object.assign(error, { command }) satisfies Misuse
  })
}

/** Verbs that only read: what they show may be chosen. */
const reading = 'history list members registrations rejects responses runs show types usage'.split(' ')

/** A bare noun lists. */
const inherit = (parent: Command): void => {
  for (const command of parent.commands) {
    throwing(command)
    if (reading.includes(command.name()) && command.commands.length === 0)
      command.option(
        '--fields <names>',
        'show these properties alone, separated by commas; --json shows which there are',
      )
    inherit(command)
    if (isDefault(parent, command) && command.registeredArguments.length === 0) refuseUnknown(parent, command)
  }
}

const isDefault = (parent: Command, command: Command): boolean =>
  (parent as unknown as { _defaultCommandName: string | null })._defaultCommandName === command.name()

/** What follows a noun and is no verb of it would else be an argument too many of its list. */
const refuseUnknown = (noun: Command, list: Command): void => {
  list.allowExcessArguments(true).hook('preAction', ({ args }) => {
    if (args.length === 0) return
    throw new Problem('usage', `There is no command svc ${noun.name()} ${args[0]}`, {
      hint: `svc ${noun.name()} --help`,
    })
  })
}

const ignore = () => {}

/** Parses and runs. Sets `process.exitCode`; never exits while output is still to be written. */
export const runProgram = async (program: Command, argv: readonly string[]): Promise<void> => {
  // A reader that has seen enough (`| head`) is no failure; a command under way is ended by it (interruption.ts).
  process.stdout.off('error', ignore).on('error', ignore)
  // Nor is one who does not want to hear of failures.
  process.stderr.off('error', ignore).on('error', ignore)
  try {
    await program.parseAsync([...argv])
  } catch (error) {
    if (!(error instanceof CommanderError)) process.exitCode = await reportFailure(error, asksJson(), 'svc --help')
    else process.exitCode = error.exitCode === 0 ? 0 : await reportMisuse(error as Misuse)
  }
}

const reportMisuse = async ({ code, message, command }: Misuse): Promise<number> => {
  // Its help was shown in place of an error.
  const isHelp = code === 'commander.help'
  if (isHelp && !asksJson()) return 2
  const sentence = isHelp ? `${fullCommand(command)} takes a command` : message.replace(/^error: /, '')
  return reportFailure(new Problem('usage', sentence), asksJson(), `${fullCommand(command)} --help`)
}

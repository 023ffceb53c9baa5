import { Command, CommanderError, Help } from 'commander'
import { nearest } from '../lib/nearest.ts'
import { Problem, shown } from '../lib/problem.ts'
import type { ChoicesOf } from './choices.ts'
import { type CommandList, isDefault, placeAt, register } from './define.ts'
import { describeOption, formatHelp } from './help.ts'
import { isPerson } from './input.ts'
import { declaredFlag, fullCommand, withFlags } from './next.ts'
import { type Lookups, type Open, reportFailure, runner } from './run.ts'
import { version } from './version.ts'

/** Reads argv directly, since errors of the parser are printed as JSON, too. */
const asksJson = (): boolean => process.argv.includes('--json') || process.argv.includes('--jsonl')

const noLookups: Lookups = { namesOf: async () => new Map(), consoleUrl: async () => null }

/** Builds the `svc` program: shared options and conventions here, commands from the features. */
export const buildProgram = (
  lists: readonly CommandList[],
  open: Open,
  loadChoices: () => Promise<ChoicesOf> = async () => () => undefined,
  loadLookups: () => Promise<Lookups> = async () => noLookups,
): Command => {
  const program = new Command('svc')
  program
    .description('Email, contacts, deals, journeys, webinars, courses and webhooks: the dashboard in a terminal')
    .version(version(), '-V, --version')
    .option('--account <id|name>', 'the account to work on (or SVC_ACCOUNT)')
    .option('--json', 'print JSON: one object, in the shape of the REST API')
    .option('--jsonl', 'print one JSON object a line')
    .option('-q, --quiet', 'print ids only')
    .option('--wide', 'show every column of a table, and ids in full')
    .option('--no-pager', 'print long lists as they are, not by PAGER')
    .option('--no-color', 'print without colour (or NO_COLOR)')
    .helpCommand(true)
    // Nouns are listed without arguments, verbs with theirs. All have options: without naming them, the texts have the space to wrap.
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (c) =>
        c.parent === program ? c.name() : Help.prototype.subcommandTerm(c).replace(' [options]', ''),
      // A noun's summary is for two columns.
      subcommandDescription: (c) => c.description(),
      optionDescription: describeOption,
      formatHelp: (command, helper) => formatHelp(program, command, helper),
    })
    .configureOutput({
      writeErr: (text) => (asksJson() ? undefined : process.stderr.write(text)),
      // reportMisuse prints these errors, with a hint.
      outputError: () => {},
    })
  for (const list of lists) register(program, list, runner(open, loadChoices, loadLookups))
  throwOnExit(program)
  configure(program)
  return program
}

const ignore = () => {}

/** Reports every argument and flag that the call of a command lacks. The parser would report the first argument only. */
const refuseMissing = (command: Command): never => {
  const { args, options, registeredArguments } = command
  const path = fullCommand(command).replace(/^svc /, '')
  const isLacking = (property: string) => command.getOptionValue(property) === undefined
  const flags = options.filter((option) => placeAt(path, option.long!).isNeeded && isLacking(option.attributeName()))
  const lacking = registeredArguments.filter(({ required }, at) => required && args[at] === undefined)
  const names = [...lacking.map((argument) => `<${argument.name()}>`), ...flags.map(({ long }) => long!)]
  throw new Problem('usage', `Missing ${names.join(', ')}`, {
    hint: withFlags(...names.map((name) => (name.startsWith('<') ? name : declaredFlag(command, name)))),
  })
}

type Misuse = CommanderError & { command: Command }

/** Makes a command throw instead of exiting, so that usage errors get their status in one place. */
const throwOnExit = (command: Command): void => {
  command.exitOverride((error) => {
    throw Object.assign(error, { command }) satisfies Misuse
  })
  Object.assign(command, {
    // On a terminal run.ts asks for missing arguments.
    missingArgument: isPerson() ? ignore : () => refuseMissing(command),
    _dispatchHelpCommand: () => showHelp(command),
  })
}

/** Verbs that only read; they get --fields. */
const readVerbs = 'attendees history list members registrations rejects responses runs show types usage'.split(' ')

/** Applies the conventions of all commands to the commands of `parent`. */
const configure = (parent: Command): void => {
  for (const command of parent.commands) {
    throwOnExit(command)
    if (readVerbs.includes(command.name()) && command.commands.length === 0)
      command.option(
        '--fields <names>',
        'show only these columns, by heading or by property of --json, separated by commas',
      )
    configure(command)
    if (isDefault(parent, command) && command.registeredArguments.length === 0) refuseUnknown(parent, command)
  }
}

const noSuchCommand = (parent: Command, typed: string): Problem => {
  const name = nearest(
    typed,
    parent.commands.map((command) => command.name()),
  )
  const meant = name ? ` (did you mean ${name}?)` : ''
  return new Problem('usage', `There is no command ${fullCommand(parent)} ${shown(typed)}${meant}`, {
    hint: `${fullCommand(parent)} --help`,
  })
}

/** Refuses an unknown verb by its name. Otherwise the parser would call it an excess argument of the noun's default verb. */
const refuseUnknown = (noun: Command, list: Command): void => {
  list.allowExcessArguments(true).hook('preAction', ({ args }) => {
    if (args.length === 0) return
    if (noun.args[0] !== list.name()) throw noSuchCommand(noun, args[0]!)
    throw new Problem('usage', `${fullCommand(list)} takes no arguments, but got ${shown(args.join(' '))}`, {
      hint: `${fullCommand(list)} --help`,
    })
  })
}

/** Shows the help of the command that the words after `help` name. The parser would read the first of them only. */
const showHelp = (from: Command): never => {
  let command = from
  for (const word of from.args.slice(1)) {
    if (word.startsWith('-') || word === 'help') continue
    const found = command.commands.find((one) => one.name() === word)
    if (!found) throw noSuchCommand(command, word)
    command = found
  }
  return command.help()
}

/** Parses and runs. Sets `process.exitCode`; never exits while output is still to be written. */
export const runProgram = async (program: Command, argv: readonly string[]): Promise<void> => {
  // A reader that closes the pipe (`| head`) is not a failure; it ends a running command (interruption.ts).
  process.stdout.off('error', ignore).on('error', ignore)
  // Neither is a closed stderr.
  process.stderr.off('error', ignore).on('error', ignore)
  try {
    await program.parseAsync([...argv])
  } catch (error) {
    if (!(error instanceof CommanderError)) process.exitCode = await reportFailure(error, asksJson(), 'svc --help')
    else process.exitCode = error.exitCode === 0 ? 0 : await reportMisuse(error as Misuse)
  }
}

const reportMisuse = async ({ code, message, command }: Misuse): Promise<number> => {
  // The parser printed the command's help instead of an error.
  const isHelp = code === 'commander.help'
  if (isHelp && !asksJson()) return 2
  const sentence = isHelp
    ? `${fullCommand(command)} takes a command`
    : message.replace(/^error: /, '').replace(/\n\(Did you/, ' (did you')
  return reportFailure(new Problem('usage', sentence), asksJson(), `${fullCommand(command)} --help`)
}

/*
 * Commands as data, as routes are. A feature lists its commands with `command`; `register` adds them to the program.
 * Completion, questions, suggestions and help follow from the same definition.
 */

import type { Command } from 'commander'
import { Problem } from '../lib/problem.ts'
import type { Context, RunOptions } from './command.ts'
import type { Argument, ArgumentValues, Flag, Flags, FlagValues, Place } from './flags.ts'
import { fullCommand } from './next.ts'

interface Item {
  /** The words after `svc`, such as `deals list`. */
  path: string
  /** The description in help. A noun that is a command itself has one already. */
  summary?: string
}

/** A noun, or words of it that hold verbs. */
interface Group extends Item {
  summary: string
  /** The heading of a noun in `svc --help`, and its summary there. */
  heading?: string
  brief?: string
}

interface Definition<A extends readonly Argument[], F extends Flags>
  extends Item,
    Omit<RunOptions, 'rollsBack' | 'needs'> {
  /** Whether it runs if its noun is called without a verb. */
  isDefault?: boolean
  /** Whether help leaves it out. */
  isHidden?: boolean
  /** The usage in help, if its arguments don't say it. */
  usage?: string
  /** Whole command lines for help; a test parses them. */
  examples: readonly string[]
  arguments?: A
  flags?: F
  /** Runs before the app is opened and anything is loaded. */
  before?: () => void
  /** Runs the command with its arguments in their order, then its flags. Its module imports only what help needs. */
  run: (context: Context, ...input: [...ArgumentValues<A>, FlagValues<F>]) => Promise<void>
}

/** A command. `run` takes what its arguments and flags say. */
type AnyCommand = Omit<Definition<readonly Argument[], Flags>, 'run'> & {
  run: (context: Context, ...input: never) => Promise<void>
}

/** Commands, and groups of them, in the order of help. Several features may add verbs to one noun. */
export type CommandList = readonly (AnyCommand | Group)[]

/** Defines a command. Its `run` gets typed arguments and flags. */
export const command = <const A extends readonly Argument[] = [], F extends Flags = Record<never, never>>(
  definition: Definition<A, F>,
): AnyCommand => definition

/** Defines a noun or a group of verbs. */
export const group = (definition: Group): Group => definition

type KnownPlace = Place & Pick<Flag<unknown>, 'value' | 'isNeeded'>

/** Flags and arguments by command and place: `deals list --status`, `events send <type>`. */
const places = new Map<string, KnownPlace>()

/** Returns a flag (`--status`) or argument (`<type>`) of a registered command, or {} for any other. */
export const placeAt = (path: string, place: string): Partial<KnownPlace> => places.get(`${path} ${place}`) ?? {}

/** Returns the closed set of a flag or argument of a registered command; undefined if it takes any text. */
export const closedSetAt = (
  path: string,
  place: string,
): { load: () => Promise<readonly string[]>; isMany: boolean } | undefined => {
  const { of, isMany = false } = placeAt(path, place)
  return of && { load: async () => (typeof of === 'function' ? of() : of), isMany }
}

/** Returns the places of the closed sets of all registered commands. */
export const closedPlaces = (): string[] => [...places].filter(([, { of }]) => of).map(([place]) => place)

/** Returns the flag of a property: `--reply-to` for `replyTo`. */
export const longFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const addFlag = (to: Command, path: string, name: string, flag: Flag<unknown>): void => {
  const { value, short, isNegated, description, default: defaultValue, parse } = flag
  const long = isNegated ? `--no-${longFlag(name).slice(2)}` : longFlag(name)
  const flags = [short, value ? `${long} ${value}` : long].filter(Boolean).join(', ')
  // The parser runs it before the action, which would add the hint.
  const parseHinted = (text: string, earlier: unknown) => {
    try {
      return parse!(text, earlier as never)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      throw new Problem(error.kind, error.message, { hint: `${fullCommand(to)} --help`, ...error.detail })
    }
  }
  if (parse) to.option(flags, description, parseHinted, defaultValue)
  else to.option(flags, description, defaultValue as string | undefined)
  places.set(`${path} ${long}`, flag)
}

const addArgument = (to: Command, path: string, argument: Argument): void => {
  to.argument(argument.name, argument.description)
  places.set(`${path} <${argument.name.replaceAll(/[<>[\].]/g, '')}>`, argument)
}

/** Whether a command is the default verb of its noun, which commander has no public property for. */
export const isDefault = (noun: Command, command: Command): boolean =>
  (noun as Command & { _defaultCommandName?: string | null })._defaultCommandName === command.name()

const isGroup = (item: AnyCommand | Group): item is Group => !('run' in item)

/** Returns the command with that name below another one, which it creates if there is none. */
const childOf = (parent: Command, name: string): Command =>
  parent.commands.find((child) => child.name() === name) ?? parent.command(name)

/** Adds commands to the program. `action` wraps what a command does, with its options. */
export const register = (
  program: Command,
  list: CommandList,
  action: (act: AnyCommand['run'], options: RunOptions) => (...input: never) => Promise<void>,
): void => {
  for (const item of list) {
    const words = item.path.split(' ')
    const name = words.pop()!
    const parent = words.reduce(childOf, program)
    if (isGroup(item)) {
      const { summary, heading, brief } = item
      const noun = childOf(parent, name).description(summary)
      if (heading) noun.helpGroup(heading)
      if (brief) noun.summary(brief)
      continue
    }
    const { isHidden = false, summary, usage, examples, before, run, ...rest } = item
    const added =
      parent === program
        ? childOf(program, name)
        : parent.command(name, { isDefault: item.isDefault ?? false, hidden: isHidden })
    if (summary) added.description(summary)
    if (usage) added.usage(usage)
    if (before) added.hook('preAction', before)
    if (examples.length > 0)
      added.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
    for (const argument of rest.arguments ?? []) addArgument(added, item.path, argument)
    const flags = Object.entries(rest.flags ?? {})
    for (const [property, flag] of flags) addFlag(added, item.path, property, flag)
    const rollsBack = flags.some(([, flag]) => flag.rollsBack)
    const needs = flags.flatMap(([property, flag]) => (flag.isNeeded ? property : []))
    added.action(action(run, { ...rest, rollsBack, needs }) as (...input: unknown[]) => Promise<void>)
  }
}

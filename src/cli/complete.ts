import type { Argument, Command, Option } from 'commander'
import { closedSetAt, isDefault } from './define.ts'

/** A completion of a word of a command line; `:files` stands for file names. */
export interface Candidate {
  value: string
  about: string
}

const files: Candidate = { value: ':files', about: '' }

/** Returns the command below `svc`: `deals move`. */
export const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

/** Returns the default verb of a noun (docs/reference/cli.md#conventions). */
const defaultOf = (command: Command): Command | undefined => command.commands.find((child) => isDefault(command, child))

/** Returns the commands whose flags are valid here: the default verb, the command and its parents. */
const scopeOf = (command: Command): Command[] => {
  const scope: Command[] = []
  const first = defaultOf(command)
  if (first) scope.push(first)
  for (let at: Command | null = command; at; at = at.parent) scope.push(at)
  return scope
}

interface Place {
  command: Command
  /** The flag whose value is expected here, and its command. */
  flag: { option: Option; of: Command } | null
  /** How many arguments come before. */
  argumentsBefore: number
  /** Whether the words after `help` are completed, which are commands only. */
  isHelp: boolean
}

const findFlag = (command: Command, word: string): Place['flag'] => {
  for (const of of scopeOf(command)) {
    const option = of.options.find(({ long, short }) => word === long || word === short)
    if (option) return { option, of }
  }
  return null
}

const walk = (program: Command, words: readonly string[]): Place => {
  let place: Place = { command: program, flag: null, argumentsBefore: 0, isHelp: false }
  for (const word of words) {
    const { command, flag } = place
    if (word === '=') continue
    if (flag) place = { ...place, flag: null }
    else if (word.startsWith('-')) {
      const found = findFlag(command, word)
      if (found && (found.option.required || found.option.optional)) place = { ...place, flag: found }
    } else {
      const isFirst = place.argumentsBefore === 0
      const child = isFirst ? command.commands.find((one) => one.name() === word) : undefined
      if (child) place = { ...place, command: child }
      else if (isFirst && word === 'help' && command.commands.length > 0) place = { ...place, isHelp: true }
      else place = { ...place, argumentsBefore: place.argumentsBefore + 1 }
    }
  }
  return place
}

const candidates = (values: readonly string[], current: string): Candidate[] => {
  // In a comma-separated list the last value is completed.
  const before = current.slice(0, current.lastIndexOf(',') + 1)
  return values.map((value) => ({ value: before + value, about: '' }))
}

const valuesOfFlag = async ({ option, of }: NonNullable<Place['flag']>, current: string) => {
  const values = await closedSetAt(pathOf(of), option.long!)?.load()
  if (values) return candidates(values, current)
  return /[<|@](file|folder)\b/.test(option.flags) ? [files] : []
}

const valuesOfArgument = async (of: Command, argument: Argument | undefined, current: string) => {
  const values = argument && (await closedSetAt(pathOf(of), `<${argument.name()}>`)?.load())
  if (values) return candidates(values, current)
  return /^file/.test(argument?.name() ?? '') ? [files] : []
}

const flagsOf = (command: Command): Candidate[] => [
  ...scopeOf(command).flatMap(({ options }) =>
    options.map(({ long, short, description }) => ({ value: long ?? short ?? '', about: description })),
  ),
  { value: '--help', about: 'display help for command' },
]

const wordsOf = async ({ command, argumentsBefore, isHelp }: Place, current: string): Promise<Candidate[]> => {
  const listed = command.createHelp().visibleCommands(command)
  const verbs = argumentsBefore === 0 ? command.commands.filter((verb) => listed.includes(verb)) : []
  const of = defaultOf(command) ?? command
  const argument = of.registeredArguments[argumentsBefore] ?? of.registeredArguments.find(({ variadic }) => variadic)
  return [
    ...verbs.map((verb) => ({ value: verb.name(), about: verb.description() })),
    ...(isHelp ? [] : await valuesOfArgument(of, argument, current)),
  ]
}

/** Returns completions for the last of the words: commands, flags, values of closed sets. */
export const complete = async (program: Command, words: readonly string[]): Promise<Candidate[]> => {
  const last = words.at(-1) ?? ''
  const [, flag = '', current = last] = /^(--[^=]+)=(.*)$/.exec(last) ?? []
  const place = walk(program, [...words.slice(0, -1), ...(flag ? [flag] : [])])
  const typed = current === '=' ? '' : current
  const found = place.flag
    ? await valuesOfFlag(place.flag, typed)
    : typed.startsWith('-')
      ? flagsOf(place.command)
      : await wordsOf(place, typed)
  return found
    .filter(({ value }) => value === files.value || value.startsWith(typed))
    .map(({ value, about }) => ({ value: flag && value !== files.value ? `${flag}=${value}` : value, about }))
}

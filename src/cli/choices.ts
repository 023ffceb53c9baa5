import type { Argument, Command, Option } from 'commander'
import { nearest } from '../lib/nearest.ts'
import { Problem, shown } from '../lib/problem.ts'
import { askChoice, askSeveral, askText, type Choice, checkFile, questionOf } from './ask.ts'
import type { Context } from './command.ts'
import { pathOf } from './complete.ts'

/**
 * Returns the texts that were given for a flag (`--pipeline`) or an argument (`<ids>`) of the same command, or [] if there are
 * none.
 */
export type Given = (place: string) => readonly string[]

/** The values of a flag or an argument. */
export interface Choices {
  load(context: Context, given: Given): Promise<readonly Choice[]>
  /** Returns the value whose id ends with `end`; or undefined if there is none. It is absent if values have no ids. */
  findByEnd?(context: Context, end: string): Promise<string | undefined>
  /** The noun of a value that must exist, such as `deals`. Without it, any text is accepted if there is nothing to choose from. */
  noun?: string
  /** Whether it takes several values, separated by commas. */
  isMany?: boolean
}

/** Returns the choices of a flag (`--to`) or an argument (`<journey>`) of a command (`deals move`). */
export type ChoicesOf = (command: string, place: string) => Choices | undefined

type Place = { name: string; description: string; flags: string }

const placeOfOption = ({ long, description, flags }: Option): Place => ({ name: long!, description, flags })

export const placeOfArgument = (argument: Argument): Place => ({
  name: `<${argument.name()}>`,
  description: argument.description,
  flags: `<${argument.name()}>`,
})

/** Returns the question for a description, without its remarks on syntax and defaults. */
const questionFor = ({ name, description }: Place, noun?: string): string => {
  const plain = name.replaceAll(/^--|[<>]/g, '').replaceAll('-', ' ')
  const word = noun && /^ids?\b/.test(plain) ? noun.replace(/s$/, '') : plain
  const isForm = /^((its )?ids?\b|left out)|:</.test(description)
  const asked = isForm ? '' : description.split(/;| \(|, separated|: /)[0]!
  return questionOf(asked || word)
}

/** Whether it names a file to read, which must exist. */
const isRead = (command: string, { name, flags }: Place): boolean =>
  /[<|](file|folder)\b/.test(flags) && name !== '--out' && !command.startsWith('db backup')

/** Asks for the value of a missing flag or argument, and checks it before the next question. */
export const askValue = async (
  context: Context,
  command: Command,
  place: Place,
  choicesOf: ChoicesOf,
): Promise<string[]> => {
  const path = pathOf(command)
  const choices = choicesOf(path, place.name)
  const values = (await choices?.load(context, givenTo(command))) ?? []
  const question = questionFor(place, choices?.noun)
  if (values.length > 0) return choices?.isMany ? askSeveral(question, values) : [await askChoice(question, values)]
  if (choices?.noun)
    throw new Problem('not_found', `There are no ${choices.noun} yet`, { hint: `svc ${path.split(' ')[0]} --help` })
  const check = isRead(path, place) ? (text: string) => (text === '-' ? undefined : checkFile(text)) : undefined
  return [(await askText(question, check)).trim()]
}

/** Asks for a flag by its long name. */
export const askFlag = async (
  context: Context,
  command: Command,
  name: string,
  choicesOf: ChoicesOf,
): Promise<string> => {
  const option = command.options.find(({ long }) => long === name)
  const place = option ? placeOfOption(option) : { name, description: '', flags: '' }
  return (await askValue(context, command, place, choicesOf)).join(',')
}

/** Returns the given flags and arguments with their texts. */
const givenOf = (command: Command): { name: string; texts: string[] }[] => {
  const values = command.opts<Record<string, unknown>>()
  const all = [
    ...command.options.map((option) => ({ name: option.long ?? '', value: values[option.attributeName()] })),
    ...command.registeredArguments.map((argument, at) => ({
      name: `<${argument.name()}>`,
      value: command.processedArgs[at] as unknown,
    })),
  ]
  return all.flatMap(({ name, value }) => {
    const texts = [value].flat().filter((text): text is string => typeof text === 'string' && text.trim() !== '')
    return texts.length > 0 ? [{ name, texts }] : []
  })
}

const givenTo =
  (command: Command): Given =>
  (place) =>
    givenOf(command).find(({ name }) => name === place)?.texts ?? []

/** Returns whether a message is about a value: it repeats the value, or names its flag or property (for `--scope`: `scopes[0]`). */
const isAbout = (message: string, name: string, texts: readonly string[]): boolean => {
  const plain = name.replace(/^--|[<>]/g, '')
  const property = plain.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  return [...texts.flatMap((text) => text.split(',')), plain, `${plain}s`, property].some((word) =>
    new RegExp(`(?<!\\w)${RegExp.escape(word)}(?!\\w)`).test(message),
  )
}

/** Returns the known value that is closest to a given one that is not among its choices, if the message is about it. */
const findSuggestion = async (
  context: Context,
  command: Command,
  choicesOf: ChoicesOf,
  message: string,
): Promise<string | undefined> => {
  const account = command.optsWithGlobals<{ account?: string }>().account ?? process.env.SVC_ACCOUNT
  const all = [
    { path: '', name: '<account>', texts: account ? [account] : [] },
    ...givenOf(command).map((given) => ({ path: pathOf(command), ...given })),
  ]
  for (const { path, name, texts } of all) {
    const choices = choicesOf(path, name)
    if (!choices || !isAbout(message, name, texts)) continue
    const known = (await choices.load(context, givenTo(command))).flatMap(({ value, name: label }) => [
      value,
      ...(label ? [label] : []),
    ])
    for (const text of choices.isMany ? texts.flatMap((list) => list.split(',')) : texts) {
      const suggestion = known.includes(text.trim()) ? undefined : nearest(text.trim(), known)
      if (suggestion) return suggestion
    }
  }
}

/** Returns the error, with the value that was probably meant if one was mistyped. */
export const withSuggestion = async (
  error: unknown,
  context: Context,
  command: Command,
  loadChoices: () => Promise<ChoicesOf>,
): Promise<unknown> => {
  if (!(error instanceof Problem) || !['not_found', 'usage', 'invalid'].includes(error.kind)) return error
  try {
    const suggestion = await findSuggestion(context, command, await loadChoices(), error.message)
    return suggestion === undefined
      ? error
      : new Problem(error.kind, `${error.message} (did you mean ${shown(suggestion)}?)`, error.detail)
  } catch {
    // The choices can't be loaded, for example because the account does not exist: the first error counts.
    return error
  }
}

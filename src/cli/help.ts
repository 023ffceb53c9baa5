import { type Command, Help, type Option } from 'commander'
import { fitted, widthOf } from './draw/draw.ts'

/** Cells of a terminal that has room for two columns. */
const twoColumns = 78
const nounCells = 14

/** Returns cells in rows of two columns, filled row by row. */
const inPairs = (cells: readonly string[], width: number): string[] => {
  const half = Math.floor(width / 2)
  const rows = cells.filter((_, i) => i % 2 === 0).map((left, i) => [left, cells[2 * i + 1] ?? ''] as const)
  return rows.map(([left, right]) => `  ${right ? fitted(left, half - 2) : left}${right && `  ${right}`}`)
}

/** What a newcomer types first. */
const started: readonly [command: string, what: string][] = [
  ['svc dev', 'run everything here: database, API, console, email'],
  ['svc doctor', 'check everything a daemon needs, and suggest fixes'],
  ['svc completion bash', 'print the completion script of a shell'],
  ['svc <command> --help', 'show the verbs, flags and examples of a command'],
]

/**
 * Returns `svc --help` for a terminal: nouns by group in two columns. Getting started comes last: that end of a longer text stays
 * on the screen.
 */
const helpOnTerminal = (program: Command, helper: Help, width: number): string => {
  const groups = Map.groupBy(
    program.commands.filter((noun) => noun.helpGroup()),
    (noun) => noun.helpGroup(),
  )
  const [first, ...others] = [...groups]
  const nouns = (those: readonly Command[]) =>
    inPairs(
      those.map((noun) => fitted(noun.name(), nounCells) + noun.summary()),
      width,
    )
  const options = helper.visibleOptions(program)
  const terms = Math.max(...options.map((option) => widthOf(helper.optionTerm(option)))) + 2
  return [
    `Usage: svc <command> [options]`,
    ...['', ...helper.boxWrap(program.description(), width).split('\n')],
    ...[
      '',
      'Options:',
      ...options.map((option) => `  ${fitted(helper.optionTerm(option), terms)}${option.description}`),
    ],
    ...others.flatMap(([heading, those]) => ['', heading, ...nouns(those)]),
    '',
    first![0],
    ...started.map(([command, what]) => `  ${fitted(command, Math.max(terms, 22))}${what}`),
    '',
  ].join('\n')
}

/** Returns the global options of a command in a line or two. */
const globalOptions = (command: Command, helper: Help, width: number): string => {
  const lines = ['']
  const named = helper.visibleGlobalOptions(command).filter(({ long }) => long !== '--version')
  for (const option of named) {
    const term = `  ${helper.optionTerm(option)}`
    if (widthOf(lines.at(-1)! + term) > width) lines.push('')
    lines.push(lines.pop()! + term)
  }
  return `Global Options:\n${lines.join('\n')} (svc --help describes them)\n`
}

/** Returns what help says of an option. An empty list as the default, of an option that may be repeated, says nothing. */
export const describeOption = (option: Option): string => {
  const isEmpty = Array.isArray(option.defaultValue) && option.defaultValue.length === 0
  const shown: Option = isEmpty ? Object.create(option, { defaultValue: { value: undefined } }) : option
  return Help.prototype.optionDescription(shown)
}

/** Returns the help of a command; `program` is `svc` itself. */
export const formatHelp = (program: Command, command: Command, helper: Help): string => {
  const width = helper.helpWidth ?? 80
  if (command === program && process.stdout.isTTY && width >= twoColumns) return helpOnTerminal(program, helper, width)
  const own: Help = Object.create(helper, { showGlobalOptions: { value: false } })
  const help = Help.prototype.formatHelp.call(own, command, own)
  return command === program ? help : `${help}\n${globalOptions(command, helper, width)}`
}

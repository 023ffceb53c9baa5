import type { Command } from 'commander'

/** `svc pipelines stages add` */
export const fullCommand = (command: Command): string =>
  command.parent ? `${fullCommand(command.parent)} ${command.name()}` : command.name()

const quoted = (argument: string): string =>
  /^[\w@%+=:,./<>-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`

/** The command that was given with more flags: what to type next. */
export const withFlags = (...flags: readonly string[]): string =>
  ['svc', ...process.argv.slice(2).map(quoted), ...flags].join(' ')

/** `--name <name>`: a flag as its command describes it. */
export const givenFlag = (command: Command, name: string): string => {
  const option = command.options.find(({ long }) => long === `--${name}`)
  return option?.flags.replace(/^-\w, /, '') ?? `--${name} <${name}>`
}

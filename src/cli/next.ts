import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Command } from 'commander'
import { shellWord } from '../lib/shell.ts'

/** Returns the full name of a command: `svc pipelines stages add`. */
export const fullCommand = (command: Command): string =>
  command.parent ? `${fullCommand(command.parent)} ${command.name()}` : command.name()

/** Returns the command line of this process with more flags, as a suggestion. */
export const withFlags = (...flags: readonly string[]): string =>
  ['svc', ...process.argv.slice(2).map(shellWord), ...flags].join(' ')

/** Returns a flag with its placeholder, as its command declares it: `--name <name>`. */
export const declaredFlag = (command: Command, name: string): string => {
  const option = command.options.find(({ long }) => long === name)
  return option?.flags.replace(/^-\w, /, '') ?? `${name} <${name.slice(2)}>`
}

/**
 * Returns the word that runs `svc` from here: `npx svc` under npm, `svc` if it is on the PATH, otherwise the path that was
 * typed. A process manager that starts another file of the package gets `svc`.
 */
export const invocation = ({ env, argv } = process): string => {
  if (env.npm_command) return 'npx svc'
  const typed = env.SVC_STARTED_AS ?? argv[1] ?? 'svc'
  const isOnPath = (env.PATH ?? '').split(':').some((folder) => join(folder, 'svc') === typed)
  return basename(typed) !== 'svc' || isOnPath || !existsSync(typed) ? 'svc' : shellWord(typed)
}

/** Returns a hint with its `svc` commands as they can be typed here. A command begins a hint, or follows punctuation, `or` or `run`. */
export const asTyped = (hint: string): string => {
  const typed = invocation()
  return typed === 'svc' ? hint : hint.replace(/(?<=^|[:;,] |\(|\bor |\brun )svc (?=[a-z])/g, () => `${typed} `)
}

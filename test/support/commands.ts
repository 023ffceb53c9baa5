import type { Command } from 'commander'
import { buildProgram } from '../../src/cli/program.ts'
import { loadCommands } from '../../src/tools/commands.ts'

const unopened = async (): Promise<never> => {
  throw new Error('not opened here')
}

/** Builds the program with all commands, or those for these arguments; their actions fail. */
export const buildCommands = async (args?: readonly string[]): Promise<Command> =>
  buildProgram(await loadCommands(args), unopened)

export type Acting = Command & { _actionHandler: unknown }

/** Returns the commands with an action, among them the default verbs of nouns. */
export const leavesOf = (command: Command): Command[] => {
  const isLeaf = command.commands.length === 0 || (command as Acting)._actionHandler != null
  return [...(command.parent && isLeaf ? [command] : []), ...command.commands.flatMap(leavesOf)]
}

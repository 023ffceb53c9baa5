import type { Command } from 'commander'
import type { ChoicesOf } from './choices.ts'
import type { Context } from './command.ts'
import { pathOf } from './complete.ts'

/*
 * Ids that are given by their end, as tables on narrow terminals show them. Commands receive whole ids.
 */

/** At least six characters, with or without the ellipsis. A kind may precede them: `course:4k2mzp`. */
const endOfId = /^([a-z]+:)?…?([0-9a-hjkmnp-tv-z]{6,26})$/

/** Returns the value of a flag or an argument with whole ids. Calls `loadChoices` only if the value may be the end of an id. */
export const withWholeIds = async <Value>(
  context: Context,
  [command, place]: readonly [command: string, place: string],
  value: Value,
  loadChoices: () => Promise<ChoicesOf>,
): Promise<Value> => {
  if (Array.isArray(value)) {
    const whole: unknown[] = []
    for (const one of value) whole.push(await withWholeIds(context, [command, place], one, loadChoices))
    return whole as Value
  }
  const [, kind = '', end] = (typeof value === 'string' && endOfId.exec(value)) || []
  if (end === undefined) return value
  const found = await (await loadChoices())(command, place)?.findByEnd?.(context, kind + end)
  return (found ?? value) as Value
}

/** Returns the arguments of an action with whole ids, and replaces them in the flags and arguments of its command. */
export const expandIds = async <Args extends unknown[]>(
  context: Context,
  args: Args,
  loadChoices: () => Promise<ChoicesOf>,
): Promise<Args> => {
  const command = args.at(-1) as Command
  const path = pathOf(command)
  const all = [...args] as Args
  for (const [at, argument] of command.registeredArguments.entries()) {
    all[at] = await withWholeIds(context, [path, `<${argument.name()}>`], all[at], loadChoices)
    command.processedArgs[at] = all[at]
  }
  const flags = command.opts<Record<string, unknown>>()
  for (const option of command.options) {
    const name = option.attributeName()
    if (flags[name] !== undefined)
      flags[name] = await withWholeIds(context, [path, option.long ?? ''], flags[name], loadChoices)
  }
  return all
}

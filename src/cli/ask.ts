import { printable } from './output.ts'

/*
 * Questions on a terminal. Callers check first that a person can be asked (`Context.asks`).
 */

/** A value to choose, and how it is shown. */
export interface Choice {
  value: string
  /** The default is the value. */
  name?: string
  about?: string
  /** Stays on the screen after the choice. The default is the name. */
  short?: string
}

/** If there are at least this many choices, typing filters them. */
const searchFrom = 8
const pageSize = 10

/** Returns a description as a question: `The list to import into:`. */
export const questionOf = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}:`

const labelOf = ({ value, name = value, about }: Choice): string => printable(about ? `${name} (${about})` : name)

const shownOf = (choice: Choice) => ({
  value: choice.value,
  name: labelOf(choice),
  short: printable(choice.short ?? choice.name ?? choice.value),
})

/** Asks for a text; Enter accepts `preset`. If `check` returns a complaint, the question stays open. */
export const askText = async (
  message: string,
  check?: (text: string) => string | undefined | Promise<string | undefined>,
  preset?: string,
): Promise<string> => {
  const { input } = await import('@inquirer/prompts')
  return input({
    message,
    required: true,
    ...(preset !== undefined && { default: preset }),
    validate: async (text) => (await check?.(text.trim())) ?? true,
  })
}

/** Asks for a secret, whose characters are masked. */
export const askSecret = async (message: string): Promise<string> => {
  const { password } = await import('@inquirer/prompts')
  return password({ message, mask: true, validate: (text) => text.trim() !== '' || 'It is empty' })
}

/** Asks for one of several values. */
export const askChoice = async (message: string, choices: readonly Choice[]): Promise<string> => {
  const { search, select } = await import('@inquirer/prompts')
  const shown = choices.map(shownOf)
  if (shown.length < searchFrom) return select({ message, choices: shown, pageSize })
  const source = (term = '') => shown.filter(({ name }) => name.toLowerCase().includes(term.toLowerCase()))
  return search({ message, source, pageSize })
}

/** Asks for at least one of several values. */
export const askSeveral = async (message: string, choices: readonly Choice[]): Promise<string[]> => {
  const { checkbox } = await import('@inquirer/prompts')
  return checkbox({ message, choices: choices.map(shownOf), required: true, pageSize })
}

/** Returns why a file can't be read; undefined if it can. */
export const checkFile = async (name: string): Promise<string | undefined> => {
  const { open, stat } = await import('node:fs/promises')
  try {
    if ((await stat(name)).isDirectory()) return `${name} is a folder`
    await (await open(name)).close()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? `There is no file ${name}` : `${name} can't be read (${code})`
  }
}

/** Asks whether to continue; Enter means no. */
export const askConfirm = async (message: string): Promise<boolean> => {
  const { confirm } = await import('@inquirer/prompts')
  return confirm({ message, default: false })
}

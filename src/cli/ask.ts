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

/**
 * Returns the answer of a prompt. Ctrl-D ends it as Ctrl-C does: it closes the reader of standard input, and the prompt
 * would wait forever.
 */
const answerOf = async <Answer>(ask: (context: { signal: AbortSignal }) => Promise<Answer>): Promise<Answer> => {
  const { stdin } = process
  const closed = new AbortController()
  const onPause = () => closed.abort()
  stdin.once('pause', onPause)
  try {
    return await ask({ signal: closed.signal })
  } catch (error) {
    if ((error as Error)?.name !== 'AbortPromptError') throw error
    throw Object.assign(new Error('Ctrl-D ended the question'), { name: 'ExitPromptError' })
  } finally {
    stdin.off('pause', onPause)
  }
}

/** Asks for a text; Enter accepts `preset`. If `check` returns a complaint, the question stays open. */
export const askText = async (
  message: string,
  check?: (text: string) => string | undefined | Promise<string | undefined>,
  preset?: string,
): Promise<string> => {
  const { input } = await import('@inquirer/prompts')
  const validate = async (text: string) => (await check?.(text.trim())) ?? true
  const options = { message, required: true, validate, ...(preset !== undefined && { default: preset }) }
  return answerOf((context) => input(options, context))
}

/** Asks for a secret, whose characters are masked. */
export const askSecret = async (message: string): Promise<string> => {
  const { password } = await import('@inquirer/prompts')
  const validate = (text: string) => text.trim() !== '' || 'It is empty'
  return answerOf((context) => password({ message, mask: true, validate }, context))
}

/** Asks for one of several values. */
export const askChoice = async (message: string, choices: readonly Choice[]): Promise<string> => {
  const { search, select } = await import('@inquirer/prompts')
  const shown = choices.map(shownOf)
  if (shown.length < searchFrom) return answerOf((context) => select({ message, choices: shown, pageSize }, context))
  const source = (term = '') => shown.filter(({ name }) => name.toLowerCase().includes(term.toLowerCase()))
  return answerOf((context) => search({ message, source, pageSize }, context))
}

/** Asks for at least one of several values. */
export const askSeveral = async (message: string, choices: readonly Choice[]): Promise<string[]> => {
  const { checkbox } = await import('@inquirer/prompts')
  const options = { message, choices: choices.map(shownOf), required: true, pageSize }
  return answerOf((context) => checkbox(options, context))
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
  return answerOf((context) => confirm({ message, default: false }, context))
}

import { stripVTControlCharacters } from 'node:util'
import { notFound, Problem } from '../lib/problem.ts'
import { widthOf, wrapped } from './draw/draw.ts'
import { present } from './flags.ts'
import { openFile, temporaryFile } from './open-file.ts'
import { type Canvas, harmless, type Output } from './output.ts'

/** The flags of a command that shows an email; `showLetter` prints it. `source` says what `--source` prints. */
export const letterFlags = (source: string) => ({
  html: present('print the HTML part'),
  source: present(source),
  open: present('open the HTML part in the browser'),
})

export interface LetterFlags {
  html?: boolean
  source?: boolean
  open?: boolean
}

/** An email for people. `thing` is its REST shape. */
export interface Letter {
  thing: object & { id: string }
  headers: Readonly<Record<string, unknown>>
  text: string | null
  html: string | null
  /** The sentence for a part that the email does not have. */
  lack: string
}

const printText = (out: Output, text: string): void =>
  out.line(out.isTerminal ? harmless(stripVTControlCharacters(text)).trimEnd() : text)

/** Breaks lines that are wider than the terminal at spaces. */
const wrappedText = (text: string, { columns }: Canvas): string =>
  text
    .split('\n')
    .flatMap((line) => (widthOf(line) > columns ? wrapped(line, columns) : [line]))
    .join('\n')

/**
 * Shows an email: on a terminal its headers, then its text part; elsewhere its REST shape. `--html` prints the HTML part,
 * `--source` prints what `printSource` writes, `--open` writes the HTML part to a file, names it and opens it in the browser.
 */
export const showLetter = async (
  out: Output,
  { thing, headers, text, html, lack }: Letter,
  flags: LetterFlags,
  printSource: (print: (text: string) => void) => void,
): Promise<void> => {
  const given = (['html', 'source', 'open'] as const).filter((name) => flags[name])
  if (given.length > 1) throw new Problem('usage', `Use only one of ${given.map((name) => `--${name}`).join(' and ')}`)
  if (flags.source) return printSource((source) => printText(out, source))
  if (flags.html || flags.open) {
    if (html === null) throw notFound(lack)
    if (flags.html) return printText(out, html)
    const file = await temporaryFile('mail.html')
    const { writeFile } = await import('node:fs/promises')
    await writeFile(file, html)
    out.one({ id: thing.id, file })
    return openFile(file).catch((error) => out.note(`${(error as Error).message}: open it in a browser.`))
  }
  if (out.format !== 'table' || out.fields) return out.one(thing)
  out.one(thing, headers)
  out.line('')
  if (text === null) out.note(html === null ? lack : 'There is no text part: --html prints the HTML, --open shows it.')
  else printText(out, wrappedText(text, out.canvas))
}

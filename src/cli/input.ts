import type { FileHandle } from 'node:fs/promises'
import type { z } from 'zod'
import { notFound, Problem, shown } from '../lib/problem.ts'
import { decodedPart } from '../lib/url-parts.ts'

/** Validates input as `parse` of lib/parse.ts does, which is loaded at the first use: help needs no zod. */
export const parse = async <S extends z.ZodType>(shape: S, input: unknown, name?: string): Promise<z.output<S>> =>
  (await import('../lib/parse.ts')).parse(shape, input, name)

/** Whether a person can be asked: both ends are a terminal, outside CI. */
export const isPerson = (): boolean => Boolean(process.stdin.isTTY && process.stdout.isTTY && !process.env.CI)

/** Returns a text without its byte-order mark. Throws Problem `usage` if it is not UTF-8. */
const decoded = (bytes: Buffer, name: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Problem('usage', `${name === '-' ? 'Standard input' : name} is not UTF-8`)
  }
}

/** Returns the text of a file, or of standard input for `-`. Throws Problem `usage` if it can't be read, or is not UTF-8. */
export const readInput = async (name: string, flag: string): Promise<string> => {
  const { buffer } = await import('node:stream/consumers')
  const { readFile } = await import('node:fs/promises')
  const bytes = await (name === '-'
    ? buffer(process.stdin)
    : readFile(name).catch(() => {
        throw new Problem('usage', `${flag} names a file that can't be read: ${name}`)
      }))
  return decoded(bytes, name)
}

/** Returns at most `maxBytes` + 1 bytes of a file, enough to see that it is too large. Throws Problem `usage` if it can't be read. */
export const readBytes = async (name: string, flag: string, maxBytes: number): Promise<Buffer> => {
  const { createReadStream } = await import('node:fs')
  const { buffer } = await import('node:stream/consumers')
  try {
    return await buffer(createReadStream(name, { end: maxBytes }))
  } catch {
    throw new Problem('usage', `${flag} names a file that can't be read: ${name}`)
  }
}

const isFile = async (name: string): Promise<boolean> => {
  const { stat } = await import('node:fs/promises')
  return stat(name).then(
    (found) => found.isFile(),
    () => false,
  )
}

/**
 * Returns the value of a flag that takes text, `@file`, or `-` for standard input. The name of an existing file is read, too, with a
 * note. Throws Problem `usage` if the file can't be read.
 */
export const readText = async (
  value: string,
  flag: string,
  { note }: { note(text: string): void },
): Promise<string> => {
  if (value === '-') return readInput('-', flag)
  if (value.startsWith('@')) return readInput(value.slice(1), flag)
  if (!(await isFile(value))) return value
  note(`${flag} was read from the file ${value}; write @${value} to say so.`)
  return readInput(value, flag)
}

/**
 * Returns the secret in the file that a flag names, without the line's end. Without a file it asks `question`, or returns
 * null if `question` is null. It also asks if the file is standard input at a terminal, which would show what is typed.
 * Throws Problem `usage` if the secret is empty.
 */
export const readSecret = async (
  file: string | undefined,
  flag: string,
  question: string | null,
): Promise<string | null> => {
  if (file === undefined && question === null) return null
  const kind = flag.includes('password') ? 'password' : 'secret'
  if (file === undefined || (file === '-' && isPerson()))
    return (await import('./ask.ts')).askSecret(question ?? `The ${kind} (${flag}):`)
  const secret = (await readInput(file, flag)).replace(/\r?\n$/, '')
  if (secret === '') throw new Problem('usage', `${flag} holds no ${kind}`)
  return secret
}

/** Returns the question for the password of a URL's user; null if the URL has no user, or there is no terminal. */
export const passwordQuestion = (asks: boolean, url: string): string | null => {
  const user = URL.parse(url)?.username
  return asks && user ? `Password of ${decodedPart(user)}:` : null
}

const unreadable = (file: string, error: unknown): Problem => {
  const { code = '' } = error as { code?: string }
  return code === 'ENOENT'
    ? notFound(`There is no file ${file}`)
    : new Problem('usage', `${file} can't be read (${code})`)
}

/** Opens a file for reading. Throws Problem `not_found` if there is none, and `usage` if it can't be read or is a folder. */
export const openSource = async (file: string): Promise<FileHandle> => {
  const { open } = await import('node:fs/promises')
  const handle = await open(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  if (!(await handle.stat()).isDirectory()) return handle
  await handle.close()
  throw unreadable(file, { code: 'EISDIR' })
}

/**
 * Returns the text of a file, or of standard input (`-`). Stops reading after `maxBytes`. Throws Problem `not_found` if there
 * is no such file, `usage` if it can't be read, or is not UTF-8.
 */
const readSource = async (file: string, maxBytes: number): Promise<string> => {
  const { createReadStream } = await import('node:fs')
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of file === '-' ? process.stdin : createReadStream(file)) {
      parts.push(part as Buffer)
      bytes += (part as Buffer).length
      if (bytes > maxBytes) break
    }
  } catch (error) {
    // The user interrupted the command.
    if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') throw error
    throw unreadable(file, error)
  }
  const all = Buffer.concat(parts)
  // A larger one is refused for its size, and may end within a character.
  return bytes > maxBytes ? all.toString() : decoded(all, file)
}

/** Returns the documents of a JSON or YAML file, or of standard input (`-`). Throws as `readSource` does, and Problem `invalid`. */
export const readDocumentsOf = async (file: string): Promise<unknown[]> => {
  const { maxFileBytes, readDocuments } = await import('../lib/documents.ts')
  return readDocuments(await readSource(file, maxFileBytes))
}

const maxDataBytes = 1024 * 1024

const fileData = async (file: string): Promise<Record<string, unknown>> => {
  const source = await readSource(file, maxDataBytes)
  try {
    const value: unknown = JSON.parse(source)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw new Problem('usage', `--data ${file} must hold a JSON object`)
}

/**
 * Returns the fields of a repeated `--data`: `name=value`, or `@file` with a JSON object; later values win. Throws Problem `usage` for
 * anything else, and for a nested value, which no merge tag can show.
 */
export const readData = async (given: readonly string[]): Promise<Record<string, string>> => {
  const entries = new Map<string, unknown>()
  for (const text of given) {
    const at = text.indexOf('=')
    if (text.startsWith('@')) {
      for (const [name, value] of Object.entries(await fileData(text.slice(1)))) entries.set(name, value)
    } else if (at > 0) entries.set(text.slice(0, at), text.slice(at + 1))
    else throw new Problem('usage', `--data takes name=value, or @ and the name of a JSON file, not ${shown(text)}`)
  }
  const [nested] = [...entries].filter(([, value]) => typeof value === 'object' && value !== null)
  if (nested) {
    const [name, value] = nested
    const what = `the value of ${shown(name)} is ${Array.isArray(value) ? 'a list' : 'an object'}`
    throw new Problem('usage', `--data takes text, numbers, true, false and null, but ${what}`)
  }
  return Object.fromEntries([...entries].map(([name, value]) => [name, String(value ?? '')]))
}

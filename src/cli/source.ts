import { notFound, Problem } from '../lib/problem.ts'

/**
 * Returns the text of a file, or of standard input (`-`). Stops reading after `maxBytes`. Throws Problem `not_found` if there
 * is no such file, `usage` if it can't be read.
 */
export const readSource = async (file: string, maxBytes: number): Promise<string> => {
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
    const { code = '' } = error as NodeJS.ErrnoException
    throw code === 'ENOENT'
      ? notFound(`There is no file ${file}`)
      : new Problem('usage', `${file} can't be read (${code})`)
  }
  return Buffer.concat(parts).toString()
}

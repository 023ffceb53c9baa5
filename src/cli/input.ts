import { Problem } from '../lib/problem.ts'

/** The text of a file, or of standard input for `-`. Throws Problem `usage` that names the flag where it can't be read. */
export const readInput = async (name: string, flag: string): Promise<string> => {
  if (name === '-') return (await import('node:stream/consumers')).text(process.stdin)
  try {
    return await (await import('node:fs/promises')).readFile(name, 'utf8')
  } catch {
    throw new Problem('usage', `${flag} names a file that can't be read: ${name}`)
  }
}

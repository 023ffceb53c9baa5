import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const src = join(import.meta.dirname, '../../src')

/** The TypeScript files of src/. */
export const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, source: readFileSync(join(src, file), 'utf8') }))

/** What a file contains that declares statements, itself or by a function of another file. */
const declaring = /(store|\.)\/(statement|purge)\.ts'|\btimelinePart\(/

/** Imports every module that declares statements, so that `statements` has all of them. */
export const loadStatements = async (): Promise<void> => {
  for (const { file, source } of sources) {
    if (declaring.test(source)) await import(join(src, file))
  }
}

import { readCsv } from './csv.ts'
import type { Source } from './file.ts'

/** The form of a file, detected before the import. */
export interface Inspected {
  encoding: string
  delimiter: string
  headers: string[]
  /** Its first readable rows. */
  samples: string[][]
}

/** Bytes to read for detecting the encoding. */
const headBytes = 1024 * 1024
const mostSamples = 5

/** Returns `utf-8` if the beginning of the file is valid UTF-8, or has a byte order mark; else `latin1`. */
const encodingOf = async (source: Source): Promise<string> => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  for await (const chunk of source.open()) {
    const [a, b] = chunk
    if (bytes === 0 && ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff))) return 'utf-8'
    try {
      decoder.decode(chunk, { stream: true })
    } catch {
      return 'latin1'
    }
    bytes += chunk.length
    if (bytes >= headBytes) break
  }
  return 'utf-8'
}

/** Inspects a file that can be read again. `encoding`: the one from `--encoding`; undefined: detect it. */
export const inspectFile = async (source: Source, encoding?: string): Promise<Inspected> => {
  const found = encoding ?? (await encodingOf(source))
  const { delimiter, headers, rows } = await readCsv({ bytes: source.open(), reopen: source.open, encoding: found })
  const samples: string[][] = []
  for await (const { values, fault } of rows) {
    if (!fault) samples.push(values)
    if (samples.length === mostSamples) break
  }
  return { encoding: found, delimiter, headers, samples }
}

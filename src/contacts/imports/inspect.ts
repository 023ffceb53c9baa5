import type { Source } from './file.ts'
import { readCsv } from './imports.csv.ts'

export interface FileFormat {
  encoding: string
  delimiter: string
  headers: string[]
  /** The file's first readable rows. */
  samples: string[][]
}

/** Bytes to read for detecting the encoding. */
const headBytes = 1024 * 1024
const maxSamples = 5

/**
 * Returns `utf-8` if the beginning of the file is valid UTF-8, otherwise `latin1`. For a file with a byte order mark of UTF-16 it
 * returns `utf-8` too: `readCsv` follows the mark, whatever the encoding is.
 */
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

/** Inspects a file that can be read again. `encoding` is the one of `--encoding`; if it is undefined, it is detected. */
export const inspectFile = async (source: Source, encoding?: string): Promise<FileFormat> => {
  const encodingInUse = encoding ?? (await encodingOf(source))
  const { delimiter, headers, rows } = await readCsv({
    bytes: source.open(),
    reopen: source.open,
    encoding: encodingInUse,
  })
  const samples: string[][] = []
  for await (const { values, fault } of rows) {
    if (!fault) samples.push(values)
    if (samples.length === maxSamples) break
  }
  return { encoding: encodingInUse, delimiter, headers, samples }
}

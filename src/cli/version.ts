import { readFileSync } from 'node:fs'

export const version = (): string => {
  // One folder up from src/ in a checkout, two up from dist/src/ in a published package.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version
    } catch {}
  }
  return 'unknown'
}

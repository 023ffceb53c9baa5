import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { bareHost } from './dial.ts'
import type { Address } from './resolver.ts'

/** The names of a hosts file. */
export interface Hosts {
  /** The addresses that the file gives a name; empty where it does not have it, or can't be read. */
  find(hostname: string): Address[]
}

/** hosts(5): an address and its names a line, comments after `#`. A name may stand in several lines, and in both families. */
const parse = (text: string): Map<string, Address[]> => {
  const names = new Map<string, Address[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...listed] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of new Set(listed.map(bareHost))) {
      const known = names.get(name) ?? []
      if (!known.some((other) => other.address === address)) known.push({ address, family: family as 4 | 6 })
      names.set(name, known)
    }
  }
  return names
}

/**
 * The hosts file at `path`, read again when it has changed. It is read at once, without a thread of the pool: what is slow
 * there (the system's own lookup, a file on a dead mount) would hold up every name.
 */
export const openHosts = (path: string): Hosts => {
  let seen = ''
  let names = new Map<string, Address[]>()

  const refresh = () => {
    try {
      const { mtimeMs, size, ino } = statSync(path)
      const found = `${mtimeMs} ${size} ${ino}`
      if (found === seen) return
      names = parse(readFileSync(path, 'utf8'))
      seen = found
    } catch {
      names = new Map()
      seen = ''
    }
  }

  return {
    find(hostname) {
      refresh()
      return names.get(bareHost(hostname)) ?? []
    },
  }
}

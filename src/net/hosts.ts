import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { type Address, bareHost } from './addresses.ts'

/** The names of a hosts file. */
interface Hosts {
  /** Returns the addresses of a name, or none if the file does not have it, or can't be read. */
  find(hostname: string): Address[]
}

/** Parses hosts(5): each line has an address and its names, comments after `#`. A name may be in several lines and both families. */
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
 * Opens the hosts file at `path`, which is read again when it has changed. It is read synchronously: slow tasks in the thread pool
 * (the system's own lookup, a file on a dead mount) would delay every name.
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

import { BlockList, isIP, isIPv4 } from 'node:net'
import { trimEndOf } from '../lib/strings.ts'

export interface Address {
  address: string
  family: 4 | 6
}

/** Returns a host name in the form for comparisons: lower case, without brackets and trailing dots. */
export const bareHost = (hostname: string): string => trimEndOf(hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1'), '.')

/** Returns a host as a URL has it: an IPv6 address in brackets. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

const anyHost: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Returns a host for the URL of a request to a server that listens on it: loopback in place of all addresses of the machine. */
export const reachableHost = (host: string): string => urlHost(anyHost[host] ?? host)

// Which addresses a URL given by a user may lead to (docs/reference/events.md#public-urls; IANA special-purpose registries).

const blockList = (...cidrs: string[]): BlockList => {
  const list = new BlockList()
  for (const cidr of cidrs) addCidr(list, cidr)
  return list
}

const addCidr = (list: BlockList, cidr: string): void => {
  const [address = '', prefix, ...more] = cidr.split('/')
  const [family, bits] = address.includes(':') ? (['ipv6', 128] as const) : (['ipv4', 32] as const)
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
  try {
    if (more.length > 0 || !(length <= bits)) throw new RangeError('Not a CIDR block')
    // It checks the address, too. `isIP` would compile its expression for IPv6 at the start of each thread: 5 ms of CPU time.
    list.addSubnet(address, length, family)
  } catch {
    throw new Error(`"${cidr}" is not an address or a CIDR block such as 10.0.0.0/8`)
  }
}

const reservedV4 = blockList(
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // CGNAT
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // the agent of a cloud's virtual machines, on a public address
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // IETF protocols
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
)

// Everything outside 2000::/3 is loopback, local, multicast, discard-only or unassigned.
const globalUnicastV6 = blockList('2000::/3')

const reservedV6 = blockList(
  '2001::/23', // IETF protocols, benchmarking, ORCHID; Teredo addresses in it are checked by their embedded addresses
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
)

/** The eight 16-bit groups of an IPv6 address in any notation. */
const groupsOf = (ip: string): number[] => {
  // The URL parser converts every notation to one canonical form: hexadecimal, compressed, without a dotted tail.
  const canonical = new URL(`http://[${ip}]/`).hostname.slice(1, -1)
  const [left = [], right = []] = canonical.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const zeros = new Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16))
}

const dotted = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

/**
 * Returns an address of a socket or of `X-Forwarded-For` without what may surround it: brackets, the port that some proxies
 * append, a zone id. An IPv4-mapped address becomes the IPv4 address. Other text is returned as it is.
 */
export const plainAddress = (text: string): string => {
  const [, bracketed, dottedV4] = /^\[([^\]]*)\](?::\d+)?$|^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text) ?? []
  const ip = (bracketed ?? dottedV4 ?? text).split('%', 1)[0]!
  if (isIP(ip) === 0) return text
  return mappedV4(ip) ?? ip
}

/** Returns the IPv4 address of an IPv4-mapped address, or null for any other. */
const mappedV4 = (ip: string): string | null => {
  if (!/^[0:]+:ffff:/i.test(ip)) return null
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groupsOf(ip)
  return (a | b | c | d | e) === 0 && f === 0xffff ? dotted(g, h) : null
}

/**
 * Returns a key for the client that uses an address: the IPv4 address in any notation, or the /64 of an IPv6 address, because a
 * host can use every address of its /64.
 */
export const clientOf = (address: string): string => {
  const ip = plainAddress(address)
  if (isIP(ip) !== 6) return ip.slice(0, 100)
  const [a = 0, b = 0, c = 0, d = 0] = groupsOf(ip)
  return `${[a, b, c, d].map((group) => group.toString(16)).join(':')}::/64`
}

/** Returns the IPv4 addresses that an IPv6 address of a transition mechanism contains; none for any other. */
const embeddedV4 = (groups: number[]): string[] => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  const tail = [dotted(g, h)]
  if ((a | b | c | d) === 0) {
    if (e === 0 && (f === 0 || f === 0xffff)) return tail // IPv4-compatible, with :: and ::1 among them; IPv4-mapped
    if (e === 0xffff && f === 0) return tail // IPv4-translated
  }
  if (a === 0x64 && b === 0xff9b && (c | d | e | f) === 0) return tail // NAT64; 64:ff9b:1::/48 is local use and stays refused
  if (a === 0x2002) return [dotted(b, c)] // 6to4
  if (a === 0x2001 && b === 0) return [dotted(c, d), dotted(g ^ 0xffff, h ^ 0xffff)] // Teredo: its server, its client
  return []
}

const isPublicV4 = (ip: string): boolean => !reservedV4.check(ip, 'ipv4')

const isPublicV6 = (ip: string): boolean => {
  const embedded = embeddedV4(groupsOf(ip))
  if (embedded.length > 0) return embedded.every(isPublicV4)
  return globalUnicastV6.check(ip, 'ipv6') && !reservedV6.check(ip, 'ipv6')
}

/** Whether an address, without brackets, can be reached on the public internet. False for text that is not an address. */
export const isPublicAddress = (ip: string): boolean => {
  const family = isIP(ip)
  if (family === 0 || ip.includes('%')) return false // a zone id is only ever written for a local address
  return family === 4 ? isPublicV4(ip) : isPublicV6(ip)
}

/** Whether an address is in a list. An IPv4-mapped address is if its IPv4 address is. */
export const isListed = (ip: string, list: BlockList): boolean =>
  isIP(ip) !== 0 && list.check(ip, isIPv4(ip) ? 'ipv4' : 'ipv6')

/** Whether svc may connect to an address: a public one, or one that the operator allowed. */
export const mayDial = (ip: string, allow: BlockList): boolean => isPublicAddress(ip) || isListed(ip, allow)

/** Parses a comma-separated list of addresses and CIDR blocks. Throws an Error with a sentence for the operator. */
export const parseCidrs = (text: string): BlockList =>
  blockList(
    ...text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )

/** Allows every address: for URLs that the operator typed (`svc events send --to`), never for URLs of users. */
export const anyAddress: BlockList = blockList('0.0.0.0/0', '::/0')

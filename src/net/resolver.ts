import { Resolver as Queries } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { domainToASCII } from 'node:url'
import { Problem } from '../lib/problem.ts'
import { openHosts } from './hosts.ts'

export interface Address {
  address: string
  family: 4 | 6
}

/** What DNS says of a mail domain (RFC 5321 section 5.1, RFC 7505). */
export type MailFact = 'mx' | 'null_mx' | 'no_mx' | 'domain_not_found' | 'timeout' | 'error'

export interface Resolver {
  /** The addresses of a host name, at least one; rejects with a `code` of node:dns otherwise, `ETIMEOUT` after `limitMs`. */
  addresses(hostname: string, limitMs: number): Promise<Address[]>
  /** Whether a domain, in any script, takes mail. Never rejects; answers `timeout` after `limitMs`. */
  mail(domain: string, limitMs: number): Promise<MailFact>
  /** The TXT records of a name, each in one piece. null: no answer within `limitMs`, which says nothing. Never rejects. */
  texts(name: string, limitMs: number): Promise<string[] | null>
  /** Cancels what is under way. */
  close(): void
}

/** How long the answer of one family waits for that of the other (RFC 8305 section 3, generously). */
const graceMs = 250

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')
const isAbsent = (error: unknown): boolean => ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(codeOf(error))
const isTimeout = (error: unknown): boolean => ['ETIMEOUT', 'ECANCELLED'].includes(codeOf(error))

const failed = (hostname: string, code: string): Error =>
  Object.assign(new Error(`No DNS answer for ${hostname}`), { code })

/** What a look-up rejects with when its time is over. */
export const lookupTimedOut = (hostname: string): Error => failed(hostname, 'ETIMEOUT')

/** A and AAAA at once. Rejects when both fail, with the failure that says least about the name, so that doubt stays doubt. */
const queryAddresses = async (queries: Queries, hostname: string): Promise<Address[]> => {
  const found: Address[] = []
  const keep = (family: 4 | 6) => (list: string[]) => {
    for (const address of list) found.push({ address, family })
  }
  const both = [queries.resolve4(hostname).then(keep(4)), queries.resolve6(hostname).then(keep(6))]
  try {
    await Promise.any(both)
  } catch (failure) {
    const { errors } = failure as AggregateError
    throw errors.find((error) => !isAbsent(error)) ?? errors[0]
  }
  await Promise.race([Promise.allSettled(both), sleep(graceMs, undefined, { ref: false })])
  return found
}

const queryMail = async (queries: Queries, domain: string): Promise<MailFact> => {
  try {
    const records = await queries.resolveMx(domain)
    return records.every(({ exchange }) => exchange === '' || exchange === '.') ? 'null_mx' : 'mx'
  } catch (error) {
    if (codeOf(error) !== 'ENODATA') return mailFailure(error, 'domain_not_found')
  }
  try {
    await queryAddresses(queries, domain) // RFC 5321: an address without MX is an implicit MX
    return 'mx'
  } catch (error) {
    return mailFailure(error, 'no_mx')
  }
}

const mailFailure = (error: unknown, absent: MailFact): MailFact =>
  isAbsent(error) ? absent : isTimeout(error) ? 'timeout' : 'error'

/** Name servers as `SVC_DNS_SERVERS` lists them, comma-separated. Throws Problem `configuration` for anything else. */
export const parseServers = (text: string): string[] => {
  const servers = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  try {
    new Queries().setServers(servers)
    return servers
  } catch {
    throw new Problem('configuration', 'SVC_DNS_SERVERS must be ip[:port], comma-separated')
  }
}

interface SystemFiles {
  hostsFile: string
}

/**
 * Looks names up at `servers` (`ip` or `ip:port`), or, when there are none, as the system is told to: addresses by its hosts
 * file, then by its name servers; mail by its name servers. Never by the system's own lookup (getaddrinfo): that holds a
 * thread of a small pool for as long as a name server is silent. A name is taken as a whole one: no search domains.
 */
export const createResolver = (
  servers: readonly string[],
  { hostsFile }: SystemFiles = { hostsFile: '/etc/hosts' },
): Resolver => {
  const hosts = servers.length === 0 ? openHosts(hostsFile) : null
  const open = new Set<Queries>()
  let isClosed = false

  // A channel for each call: node:dns can cancel a whole channel only. Without setServers it reads the system's settings.
  const withQueries = async <T>(
    hostname: string,
    limitMs: number,
    run: (queries: Queries) => Promise<T>,
  ): Promise<T> => {
    if (isClosed) throw failed(hostname, 'ECANCELLED')
    const queries = new Queries({ timeout: Math.ceil(limitMs / 3), tries: 3 })
    if (servers.length > 0) queries.setServers(servers)
    open.add(queries)
    const deadline = setTimeout(() => queries.cancel(), limitMs)
    try {
      return await run(queries)
    } finally {
      clearTimeout(deadline)
      queries.cancel()
      open.delete(queries)
    }
  }

  return {
    addresses: async (hostname, limitMs) => {
      const listed = hosts?.find(hostname) ?? []
      if (listed.length > 0) return listed
      return withQueries(hostname, limitMs, (queries) => queryAddresses(queries, hostname))
    },
    mail: async (domain, limitMs) => {
      const ascii = domainToASCII(domain)
      if (ascii === '') return 'domain_not_found'
      return withQueries(ascii, limitMs, (queries) => queryMail(queries, ascii)).catch((error) =>
        mailFailure(error, 'domain_not_found'),
      )
    },
    texts: (name, limitMs) =>
      withQueries(name, limitMs, (queries) => queries.resolveTxt(name)).then(
        (records) => records.map((pieces) => pieces.join('')),
        (error) => (isAbsent(error) ? [] : null),
      ),
    close: () => {
      isClosed = true
      for (const queries of open) queries.cancel()
    },
  }
}

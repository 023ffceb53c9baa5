import { lookup, Resolver as Queries } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { domainToASCII } from 'node:url'

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
  /** Cancels what is under way. */
  close(): void
}

/** How long the answer of one family waits for that of the other (RFC 8305 section 3, generously). */
const graceMs = 250

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')
const isAbsent = (error: unknown): boolean => ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(codeOf(error))
const isTimeout = (error: unknown): boolean => ['ETIMEOUT', 'ECANCELLED'].includes(codeOf(error))

const timedOut = (hostname: string): Error =>
  Object.assign(new Error(`No DNS answer in time for ${hostname}`), { code: 'ETIMEOUT' })

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

/**
 * Looks names up at `servers` (`ip` or `ip:port`), or, when there are none, as the system does: addresses with the hosts
 * file, mail by the system's name servers.
 */
export const createResolver = (servers: readonly string[]): Resolver => {
  const open = new Set<Queries>()
  const sharedLookups = new Map<string, Promise<Address[]>>()

  // A channel for each call: node:dns can cancel a whole channel only.
  const withQueries = async <T>(limitMs: number, run: (queries: Queries) => Promise<T>): Promise<T> => {
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

  // The system's lookup holds a thread of the pool and can't be cancelled: one at a time for a name.
  const systemLookup = (hostname: string): Promise<Address[]> => {
    const shared = sharedLookups.get(hostname)
    if (shared) return shared
    const started = lookup(hostname, { all: true }) as Promise<Address[]>
    sharedLookups.set(hostname, started)
    const forget = () => sharedLookups.delete(hostname)
    started.then(forget, forget)
    return started
  }

  const systemAddresses = async (hostname: string, limitMs: number): Promise<Address[]> => {
    let deadline: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      deadline = setTimeout(() => reject(timedOut(hostname)), limitMs)
    })
    try {
      return await Promise.race([systemLookup(hostname), late])
    } finally {
      clearTimeout(deadline)
    }
  }

  return {
    addresses: (hostname, limitMs) =>
      servers.length === 0
        ? systemAddresses(hostname, limitMs)
        : withQueries(limitMs, (queries) => queryAddresses(queries, hostname)),
    mail: async (domain, limitMs) => {
      const ascii = domainToASCII(domain)
      if (ascii === '') return 'domain_not_found'
      return withQueries(limitMs, (queries) => queryMail(queries, ascii))
    },
    close: () => {
      for (const queries of open) queries.cancel()
    },
  }
}

import { Resolver as Queries } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { domainToASCII } from 'node:url'
import { Problem } from '../lib/problem.ts'
import type { Address } from './addresses.ts'
import { createFairSemaphore } from './fair-semaphore.ts'
import { openHosts } from './hosts.ts'

/** The DNS result for a mail domain (RFC 5321 section 5.1, RFC 7505). */
export type MxResult = 'mx' | 'null_mx' | 'no_mx' | 'domain_not_found' | 'timeout' | 'error'

export interface Resolver {
  /** Returns the addresses of a host name, at least one. Rejects with a `code` of node:dns otherwise, `ETIMEOUT` after `limitMs`. */
  addresses(hostname: string, limitMs: number, owner?: unknown): Promise<Address[]>
  /**
   * Whether a domain, in any script, accepts mail. Never rejects. Returns `timeout` after `limitMs`, or null if no query was sent
   * until then because queries of other owners used all permits.
   */
  mail(domain: string, limitMs: number, owner?: unknown): Promise<MxResult | null>
  /** Returns the TXT records of a name, each joined to one text, or null without an answer within `limitMs`. Never rejects. */
  texts(name: string, limitMs: number): Promise<string[] | null>
  /** Cancels running queries. */
  close(): void
}

/** How long the answer for one family waits for that of the other (RFC 8305 section 3 suggests less). */
const graceMs = 250

/** Concurrent queries of this thread, of all callers: each uses one or two sockets. */
const queriesAtOnce = 256
const semaphore = createFairSemaphore(queriesAtOnce)
const noTurn = 'ENOTURN'

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')
const isAbsent = (error: unknown): boolean => ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(codeOf(error))
const isTimeout = (error: unknown): boolean => ['ETIMEOUT', 'ECANCELLED', noTurn].includes(codeOf(error))

const failed = (hostname: string, code: string): Error =>
  Object.assign(new Error(`No DNS answer for ${hostname}`), { code })

/** Returns the error of a look-up that timed out. */
export const lookupTimedOut = (hostname: string): Error => failed(hostname, 'ETIMEOUT')

/** Queries A and AAAA. If both fail it rejects with the failure that is no proof that the name has no address, if there is one. */
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

const queryMail = async (queries: Queries, domain: string): Promise<MxResult> => {
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

const mailFailure = (error: unknown, absent: MxResult): MxResult =>
  isAbsent(error) ? absent : isTimeout(error) ? 'timeout' : 'error'

/** Parses the comma-separated name servers of `SVC_DNS_SERVERS`. Throws Problem `configuration`. */
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
 * Returns a resolver that queries `servers` (`ip` or `ip:port`) or, if there are none, uses the system's settings: the hosts file
 * and then the name servers for addresses, the name servers for mail. It never uses the system's own lookup (getaddrinfo), which
 * blocks a thread of a small pool while a name server is silent. Names are fully qualified: search domains are not used.
 */
export const createResolver = (
  servers: readonly string[],
  { hostsFile }: SystemFiles = { hostsFile: '/etc/hosts' },
): Resolver => {
  const hosts = servers.length === 0 ? openHosts(hostsFile) : null
  const open = new Set<Queries>()
  let isClosed = false

  const inTurn = async <T>(
    hostname: string,
    limitMs: number,
    owner: unknown,
    run: (restMs: number) => Promise<T>,
  ): Promise<T> => {
    const endsAt = performance.now() + limitMs
    if (!(await semaphore.enter(owner, limitMs))) throw failed(hostname, noTurn)
    try {
      return await run(Math.max(1, endsAt - performance.now()))
    } finally {
      semaphore.leave()
    }
  }

  // A channel for each call, because node:dns can cancel whole channels only. Without setServers it uses the system's settings.
  const ask = async <T>(hostname: string, limitMs: number, run: (queries: Queries) => Promise<T>): Promise<T> => {
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

  const withQueries = <T>(
    hostname: string,
    limitMs: number,
    owner: unknown,
    run: (queries: Queries) => Promise<T>,
  ): Promise<T> => inTurn(hostname, limitMs, owner, (restMs) => ask(hostname, restMs, run))

  const running = new Map<string, Promise<MxResult>>()

  /** Shares a running query of the domain. If it ends without an answer, a caller who has time left queries again. */
  const askMail = async (domain: string, limitMs: number): Promise<MxResult> => {
    const endsAt = performance.now() + limitMs
    const restMs = () => Math.max(1, endsAt - performance.now())
    for (let other = running.get(domain); other; other = running.get(domain)) {
      const fact = await Promise.race([other, sleep(restMs(), 'timeout' as const, { ref: false })])
      if (fact !== 'timeout' || performance.now() >= endsAt) return fact
    }
    const own = ask(domain, restMs(), (queries) => queryMail(queries, domain)).catch((error) =>
      mailFailure(error, 'domain_not_found'),
    )
    running.set(domain, own)
    return own.finally(() => running.delete(domain))
  }

  return {
    addresses: async (hostname, limitMs, owner) => {
      const listed = hosts?.find(hostname) ?? []
      if (listed.length > 0) return listed
      return withQueries(hostname, limitMs, owner, (queries) => queryAddresses(queries, hostname)).catch((error) => {
        throw codeOf(error) === noTurn ? lookupTimedOut(hostname) : error
      })
    },
    mail: async (domain, limitMs, owner) => {
      const ascii = domainToASCII(domain)
      if (ascii === '') return 'domain_not_found'
      return inTurn(ascii, limitMs, owner, (restMs) => askMail(ascii, restMs)).catch((error) => {
        if (codeOf(error) === noTurn) return null
        throw error
      })
    },
    texts: (name, limitMs) =>
      withQueries(name, limitMs, undefined, (queries) => queries.resolveTxt(name)).then(
        (records) => records.map((pieces) => pieces.join('')),
        (error) => (isAbsent(error) ? [] : null),
      ),
    close: () => {
      isClosed = true
      for (const queries of open) queries.cancel()
    },
  }
}

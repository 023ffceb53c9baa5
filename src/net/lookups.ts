import { type Address, bareHost } from './addresses.ts'
import { lookupTimedOut, type Resolver } from './resolver.ts'

/*
 * Name look-ups for connections. No name waits for the answer to another one: each has a query of its own, shared by all callers
 * that need the name meanwhile, and the concurrent queries of an account are limited. Cached addresses are checked again for each
 * connection, so a name that changes its addresses can't bypass the check.
 */

export interface Lookups {
  /** Returns the addresses of a host for a connection of `accountId`. Without an account there is no limit of queries. */
  addresses(hostname: string, accountId?: string): Promise<Address[]>
}

/** An answer is cached for the connections of a burst, but not for a retry, which queries again. Failures are not cached. */
const keptMs = 2000

/** Concurrent queries of an account, with a socket each. Only names of the same account wait for them. */
const queriesAtOnce = 16

/** Returns a gate that admits `atOnce` callers; the others wait in order. `leave` admits the next one and says if the gate is empty. */
const createGate = (atOnce: number) => {
  const waiting: (() => void)[] = []
  let inside = 0
  return {
    async enter() {
      if (inside < atOnce) inside++
      else await new Promise<void>((resolve) => waiting.push(resolve))
    },
    leave() {
      const next = waiting.shift()
      if (next) next()
      else inside--
      return inside === 0
    },
  }
}

const within = async <T>(limitMs: number, work: Promise<T>, hostname: string): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(lookupTimedOut(hostname)), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Looks names up with `resolver`, each within `limitMs` including waits. */
export const createLookups = (resolver: Pick<Resolver, 'addresses'>, limitMs: number): Lookups => {
  const shared = new Map<string, Promise<Address[]>>()
  const gates = new Map<string, ReturnType<typeof createGate>>()

  const ask = (name: string, accountId?: string): Promise<Address[]> => {
    const asked = resolver.addresses(name, limitMs, accountId)
    shared.set(name, asked)
    const forget = () => shared.delete(name)
    asked.then(() => setTimeout(forget, keptMs).unref(), forget)
    return asked
  }

  const askInTurn = async (name: string, accountId: string): Promise<Address[]> => {
    const endsAt = performance.now() + limitMs
    const gate = gates.getOrInsertComputed(accountId, () => createGate(queriesAtOnce))
    const leave = () => {
      if (gate.leave()) gates.delete(accountId)
    }
    await gate.enter()
    if (performance.now() >= endsAt) {
      leave() // the caller has timed out
      throw lookupTimedOut(name)
    }
    const asked = shared.get(name) ?? ask(name, accountId)
    asked.then(leave, leave)
    return asked
  }

  return {
    addresses(hostname, accountId) {
      const name = bareHost(hostname)
      const asked = shared.get(name) ?? (accountId === undefined ? ask(name) : askInTurn(name, accountId))
      return within(limitMs, asked, name)
    },
  }
}

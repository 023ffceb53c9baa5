import { bareHost } from './dial.ts'
import { type Address, lookupTimedOut, type Resolver } from './resolver.ts'

/*
 * The names of connections. No name waits for another's answer: each has a query of its own, shared by all who want the name
 * meanwhile, and an account has a few at once. What is kept is only ever dialled after it was judged for that connection, so
 * a name that changes its meaning gains nothing here.
 */

export interface Lookups {
  /** As `Resolver.addresses`, for a connection that `accountId` wants; without an account there is no cap. */
  addresses(hostname: string, accountId?: string): Promise<Address[]>
}

/** An answer serves the connections of a burst, and no retry: each asks anew. Failures are not kept. */
const keptMs = 2000

/** Queries of an account at once, a socket each. Its further names wait for these, and those of nobody else do. */
const queriesAtOnce = 16

/** Lets `atOnce` in; the others wait in order. `leave` gives the place to the next. */
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

/** Looks names up by `resolver`, each within `limitMs`, waiting included. */
export const createLookups = (resolver: Pick<Resolver, 'addresses'>, limitMs: number): Lookups => {
  const shared = new Map<string, Promise<Address[]>>()
  const gates = new Map<string, ReturnType<typeof createGate>>()

  const ask = (name: string): Promise<Address[]> => {
    const asked = resolver.addresses(name, limitMs)
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
      leave() // nobody waits for it any more
      throw lookupTimedOut(name)
    }
    const asked = shared.get(name) ?? ask(name)
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

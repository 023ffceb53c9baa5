import { connect, type Socket } from 'node:net'
import type { Address } from './resolver.ts'

/** How long an address is tried alone (RFC 8305 section 5). */
const aloneMs = 250
/** All are being tried by then, however many: what is left of the time belongs to the slowest of them. */
const allTriedMs = 2000
/** A name can have any number of addresses, and each is a connection. */
const mostTried = 16

// Not undici's error, which would load undici for who only speaks to relays.
const timedOut = () => Object.assign(new Error('The connection timed out'), { code: 'ETIMEDOUT' })

/** The families in turn, the one of the first address first (RFC 8305 section 4). */
const inTurn = (addresses: readonly Address[]): Address[] => {
  const firsts = addresses.filter(({ family }) => family === addresses[0]!.family)
  const others = addresses.filter(({ family }) => family !== addresses[0]!.family)
  const pairs = firsts.flatMap((first, i) => [first, ...others.slice(i, i + 1)])
  return [...pairs, ...others.slice(firsts.length)].slice(0, mostTried)
}

/**
 * A TCP connection to the first of the addresses that takes one (RFC 8305, Happy Eyeballs): the next is tried beside the
 * others when these have failed, or have said nothing for a moment. So an address that is a black hole costs a moment, and
 * one that is slow is not given up for it. Rejects with the first failure when all have failed, with ETIMEDOUT after
 * `limitMs`.
 */
export const connectToFirst = (addresses: readonly Address[], port: number, limitMs: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const untried = inTurn(addresses)
    const stepMs = Math.min(aloneMs, allTriedMs / untried.length)
    const trying = new Set<Socket>()
    let failure: Error | undefined
    let next: NodeJS.Timeout | undefined

    const end = (act: () => void) => {
      clearTimeout(deadline)
      clearTimeout(next)
      for (const socket of trying) socket.destroy()
      trying.clear()
      act()
    }

    const failed = (socket: Socket, error: Error) => {
      if (!trying.delete(socket)) return // given up before
      failure ??= error
      if (untried.length > 0) tryNext()
      else if (trying.size === 0) end(() => reject(failure))
    }

    const tryNext = () => {
      clearTimeout(next)
      const { address, family } = untried.shift()!
      const socket = connect({ host: address, family, port, noDelay: true, keepAlive: true })
      trying.add(socket)
      socket.on('error', (error) => failed(socket, error))
      socket.once('connect', () => {
        trying.delete(socket)
        end(() => resolve(socket))
      })
      if (untried.length > 0) next = setTimeout(tryNext, stepMs)
    }

    const deadline = setTimeout(() => end(() => reject(timedOut())), limitMs)
    tryNext()
  })

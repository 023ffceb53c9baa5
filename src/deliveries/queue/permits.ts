import { Counts, type Health } from '../../queue/capacity.ts'
import type { ClaimCapacity } from './deliveries.claim.ts'

/** Concurrent claims of a process. */
export const totalLimit = 2048
/** Concurrent claims of an account. With many accounts each has an equal share, and one share is left for the next account. */
const accountLimit = 1024
const leastAccountLimit = 16
/** Claims of an endpoint that has not answered this process yet, of all such endpoints, and of those of an account. */
export const newLimit = 4
const newPool = 256
const newPerAccount = 32
/** Claims of endpoints whose last attempt timed out, which have one each: of all, and of those of an account. */
const hangingPool = 32
const hangingPerAccount = 8
/** One claim leaves this part of a pool's free permits. */
const leftForNext = 0.25

const mebibyte = 1024 * 1024
/** Bytes of concurrent claims: of a process, of an account, and of all endpoints that time out. */
const totalBytes = 32 * mebibyte
const accountBytes = 8 * mebibyte
const hangingBytes = 8 * mebibyte
/** A delivery up to this size is limited by number only, so that it never waits for large ones. */
const smallBytes = totalBytes / totalLimit

/** Returns the bytes that a delivery counts against the limits. */
export const countedBytes = (bytes: number): number => (bytes > smallBytes ? bytes : 0)

/** Counts permits and bytes of the process, of its accounts, and of the pools of new and hanging endpoints. */
export const createPermits = () => {
  const permits = new Counts()
  const bytes = new Counts()
  const pools = { new: new Counts(), hanging: new Counts() }
  let bytesHanging = 0
  const shared = { new: [newPool, newPerAccount, newLimit], hanging: [hangingPool, hangingPerAccount, 1] } as const
  return {
    count({ accountId, health }: { accountId: string; health: Health }, change: number, changedBytes: number) {
      permits.add(accountId, change)
      bytes.add(accountId, changedBytes)
      if (health !== 'answering') pools[health].add(accountId, change)
      if (health === 'hanging') bytesHanging += changedBytes
    },
    total: () => totalLimit - permits.total,
    ofAccounts(): Pick<ClaimCapacity, 'accounts' | 'accountDefault'> {
      const limit = Math.max(leastAccountLimit, Math.min(accountLimit, Math.floor(totalLimit / (permits.size + 1))))
      const left = [...permits].map(([id, claimed]) => [id, Math.max(0, limit - claimed)])
      return { accounts: Object.fromEntries(left), accountDefault: limit }
    },
    bytes: (): ClaimCapacity['bytes'] => ({
      small: smallBytes,
      total: totalBytes - bytes.total,
      hanging: hangingBytes - bytesHanging,
      accounts: Object.fromEntries([...bytes].map(([id, claimed]) => [id, accountBytes - claimed])),
      accountDefault: accountBytes,
    }),
    /**
     * Returns the free permits of a shared pool, in all and for each account. The more accounts use the pool, the fewer permits
     * each may have, so that some are left for the next account. `take` counts against both.
     */
    left(health: 'new' | 'hanging') {
      const [pool, most, least] = shared[health]
      const used = new Map(pools[health])
      const each = Math.max(least, Math.min(most, Math.floor(pool / (used.size + 1))))
      let all = Math.max(0, pool - pools[health].total)
      const own = (accountId: string) => Math.max(0, each - (used.get(accountId) ?? 0))
      return {
        /** Returns the free permits in units of `size`, for targets that the process does not know yet. */
        inUnits: (size: number) => ({
          targets: Math.ceil((all * (1 - leftForNext)) / size),
          perAccount: Math.floor(each / size),
          accounts: Object.fromEntries([...used.keys()].map((id) => [id, Math.floor(own(id) / size)])),
        }),
        take(accountId: string, wanted: number): number {
          const given = Math.min(wanted, own(accountId), all)
          all -= given
          used.set(accountId, (used.get(accountId) ?? 0) + given)
          return given
        },
      }
    },
  }
}

import type { Rooms } from './delivery.claim.ts'

/** Has not answered this process yet; answers; did not answer in time at last. */
export type Standing = 'new' | 'answering' | 'hanging'

/** Claims of a process at once. */
export const totalLimit = 2048
/** Claims of an account, as long as there are few; then the accounts share what there is, and leave a part for the next. */
const accountLimit = 512
const leastAccountLimit = 16
/** Claims of an endpoint that has not answered this process yet, and of all of those. */
export const newLimit = 4
const newPool = 256
export const newPerAccount = 32
/** Of those whose last attempt timed out each has one claim. */
const hangingPool = 32
export const hangingPerAccount = 8

const mebibyte = 1024 * 1024
/** Bytes of claims at once: of a process, of an account, and of all that time out. */
const totalBytes = 32 * mebibyte
const accountBytes = 8 * mebibyte
const hangingBytes = 8 * mebibyte
/** What is no larger than its share of the total is bounded by its number alone: it never waits for what is large. */
export const smallBytes = totalBytes / totalLimit

/** What a delivery of so many bytes takes of the bytes. */
export const countedBytes = (bytes: number): number => (bytes > smallBytes ? bytes : 0)

type Counts = Record<Standing, number>

const noCounts = (): Counts => ({ new: 0, answering: 0, hanging: 0 })
const sum = (counts: Counts): number => counts.new + counts.answering + counts.hanging

/** Slots and bytes that are counted for the process, its accounts, and the pools within both. */
export const createSlots = () => {
  const accounts = new Map<string, { slots: Counts; bytes: number }>()
  const pools = noCounts()
  const bytes = noCounts()
  const limitOf = () =>
    Math.max(leastAccountLimit, Math.min(accountLimit, Math.floor(totalLimit / (accounts.size + 1))))
  const shared = { new: [newPool, newPerAccount], hanging: [hangingPool, hangingPerAccount] } as const
  return {
    count({ accountId, standing }: { accountId: string; standing: Standing }, change: number, changedBytes: number) {
      const account = accounts.get(accountId) ?? { slots: noCounts(), bytes: 0 }
      account.slots[standing] += change
      account.bytes += changedBytes
      pools[standing] += change
      bytes[standing] += changedBytes
      if (sum(account.slots) > 0) accounts.set(accountId, account)
      else accounts.delete(accountId)
    },
    total: () => totalLimit - sum(pools),
    ofAccounts: (): Pick<Rooms, 'accounts' | 'accountDefault'> => {
      const limit = limitOf()
      const left = [...accounts].map(([id, { slots }]) => [id, Math.max(0, limit - sum(slots))])
      return { accounts: Object.fromEntries(left), accountDefault: limit }
    },
    bytes: (): Rooms['bytes'] => ({
      small: smallBytes,
      total: totalBytes - sum(bytes),
      hanging: hangingBytes - bytes.hanging,
      accounts: Object.fromEntries([...accounts].map(([id, account]) => [id, accountBytes - account.bytes])),
      accountDefault: accountBytes,
    }),
    /** What is left of a shared pool, for all and for each account; `take` counts against both as long as this is used. */
    left(standing: 'new' | 'hanging') {
      const [pool, each] = shared[standing]
      const taken = new Map<string, number>()
      let all = Math.max(0, pool - pools[standing])
      return {
        all: () => all,
        take(accountId: string, wanted: number): number {
          const own = each - (accounts.get(accountId)?.slots[standing] ?? 0) - (taken.get(accountId) ?? 0)
          const given = Math.max(0, Math.min(wanted, own, all))
          all -= given
          taken.set(accountId, (taken.get(accountId) ?? 0) + given)
          return given
        },
      }
    },
  }
}

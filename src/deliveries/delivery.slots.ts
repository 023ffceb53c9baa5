import type { Rooms } from './delivery.claim.ts'

/** Has not answered this process yet; answers; did not answer in time at last. */
export type Standing = 'new' | 'answering' | 'hanging'

/** Claims of a process at once. */
export const totalLimit = 2048
/** Claims of an account, as long as there are few; then the accounts share what there is, and leave a part for the next. */
const accountLimit = 1024
const leastAccountLimit = 16
/** Claims of an endpoint that has not answered this process yet, and of all of those. */
export const newLimit = 4
const newPool = 256
const newPerAccount = 32
/** Of those whose last attempt timed out each has one claim. */
const hangingPool = 32
const hangingPerAccount = 8
/** This part of what is left of a pool is not given by one claim. */
const leftForNext = 0.25

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
  const shared = { new: [newPool, newPerAccount, newLimit], hanging: [hangingPool, hangingPerAccount, 1] } as const
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
    /**
     * What is left of a shared pool, for all and for each account: the more accounts have some of it, the less each may
     * have, so that a part is left for the next. `take` counts against both as long as this is used.
     */
    left(standing: 'new' | 'hanging') {
      const [pool, most, least] = shared[standing]
      const held = new Map(
        [...accounts].flatMap(([id, { slots }]) => (slots[standing] > 0 ? [[id, slots[standing]]] : [])),
      )
      const each = Math.max(least, Math.min(most, Math.floor(pool / (held.size + 1))))
      let all = Math.max(0, pool - pools[standing])
      const own = (accountId: string) => Math.max(0, each - (held.get(accountId) ?? 0))
      return {
        /** In units of so many slots, for accounts that the process does not know beforehand. */
        inUnits: (size: number) => ({
          targets: Math.ceil((all * (1 - leftForNext)) / size),
          perAccount: Math.floor(each / size),
          accounts: Object.fromEntries([...held.keys()].map((id) => [id, Math.floor(own(id) / size)])),
        }),
        take(accountId: string, wanted: number): number {
          const given = Math.min(wanted, own(accountId), all)
          all -= given
          held.set(accountId, (held.get(accountId) ?? 0) + given)
          return given
        },
      }
    },
  }
}

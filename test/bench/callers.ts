import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createKey } from '../../src/accounts/accounts.ts'
import type { OpenApp } from '../../src/app/app.ts'
import { createList } from '../../src/contacts/contacts.ts'
import type { Work } from '../../src/store/work.ts'
import type { ApiCall, Calls } from './callers.process.ts'
import { fill } from './lookup.ts'
import { benchAccount } from './support.ts'

export type { ApiCall } from './callers.process.ts'

export const connections = 32
const accounts = 4

/** An API key and the account it belongs to. */
export interface Holder {
  accountId: string
  key: string
}

/** Creates 32 keys of 4 accounts; each account has one list of `addresses` contacts. */
export const openHolders = async (app: OpenApp, addresses: number): Promise<Holder[]> => {
  const holders: Holder[] = []
  for (let n = 0; n < accounts; n++) {
    const { id } = await benchAccount(app, `bench ${n}`)
    const work = <T>(run: (work: Work) => Promise<T>) => app.work(id, 'cli:bench', run)
    const list = await work((w) =>
      createList(w, { name: 'bench', fields: ['first_name', 'last_name', 'city', 'plan'] }),
    )
    await fill(app.database, id, list.id, 0, addresses)
    for (let k = 0; k < connections / accounts; k++) {
      const { key } = await work((w) => createKey(w, { name: `bench ${k}` }))
      holders.push({ accountId: id, key })
    }
  }
  return holders
}

export const portOf = (server: FastifyInstance): number => (server.server.address() as AddressInfo).port

/** Callers in another process: 32 concurrent ones, each with its own key or all with the first key. */
export const openCallers = () => {
  const process = fork(join(import.meta.dirname, 'callers.process.ts'))
  const failed = once(process, 'exit').then(() => Promise.reject(new Error('The callers have failed')))
  // The call in progress reports the error; after `close` the exit is expected.
  failed.catch(() => {})
  return {
    /** Returns calls per second. `call` returns call `n` of a holder, without its key. */
    async rate(
      port: number,
      holders: readonly Holder[],
      calls: number,
      call: (n: number, holder: number) => Omit<ApiCall, 'key'>,
    ) {
      const callers = Array.from({ length: connections }, (_, c): ApiCall[] => {
        const holder = c % holders.length
        const { key } = holders[holder]!
        return Array.from({ length: calls / connections }, (_, i) => ({ key, ...call(c + i * connections, holder) }))
      })
      process.send({ port, callers } satisfies Calls)
      const [ms] = await Promise.race([once(process, 'message'), failed])
      return calls / (ms / 1000)
    },
    close: () => process.disconnect(),
  }
}

import { afterAll, beforeAll } from 'vitest'

/** Returns an object that has the properties of what `current` returns at each use. */
export const standIn = <T extends object>(current: () => T): T =>
  new Proxy({} as T, {
    get: (_, key) => Reflect.get(current(), key),
    set: (_, key, value) => Reflect.set(current(), key, value),
    has: (_, key) => Reflect.has(current(), key),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_, key) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(current(), key)
      return descriptor && { ...descriptor, configurable: true }
    },
  })

/** Awaits `create` before the tests of this file or `describe`. The result can be used in tests and in later hooks. */
export const created = <T extends object>(create: () => Promise<T>): T => {
  let value: T | undefined
  beforeAll(async () => {
    value = await create()
  })
  return standIn(() => {
    if (!value) throw new Error('Used before the hooks ran: use fixtures only in tests and hooks')
    return value
  })
}

/** As `created`, and closes it after the tests, before the fixtures that were opened earlier. */
export const opened = <T extends { close(): unknown }>(open: () => Promise<T>): T => {
  let value: T | undefined
  const fixture = created(async () => {
    value = await open()
    return value
  })
  afterAll(async () => {
    await value?.close()
  })
  return fixture
}

/** The argument of a fixture. A function is called in the hook: it may use the fixtures before it. */
export type Given<T> = T | (() => T)

export const resolved = <T extends object>(given: Given<T>): T =>
  typeof given === 'function' ? (given as () => T)() : given

import { beforeAll, expect, test } from 'vitest'
import { SerializationConflict } from '../../src/store/database.ts'
import { stateKey } from '../../src/store/work-state.ts'
import { useApp } from '../support/app.ts'

let accountId: string

const t = useApp()
beforeAll(async () => {
  accountId = (await t.account()).id
})

test('a unit of work creates a state once, from the unit that uses it', async () => {
  const created: string[] = []
  const seen = stateKey((work) => {
    created.push(work.accountId)
    return new Set<string>()
  })
  await t.app.work(accountId, 'cli:test', async (work) => {
    work.state(seen).add('a')
    expect([...work.state(seen)]).toEqual(['a'])
    expect([...{ ...work, actor: 'another' }.state(seen)]).toEqual(['a'])
  })
  expect(created).toEqual([accountId])
})

test('two keys have states of their own', async () => {
  const [one, two] = [stateKey(() => [] as number[]), stateKey(() => [] as number[])]
  await t.app.work(accountId, 'cli:test', async (work) => {
    work.state(one).push(1)
    expect(work.state(two)).toEqual([])
  })
})

test('each run of a unit of work begins without states, a repeated one too', async () => {
  const counter = stateKey(() => ({ calls: 0 }))
  const seen: number[] = []
  const run = () =>
    t.app.work(accountId, 'cli:test', async (work) => {
      work.state(counter).calls++
      seen.push(work.state(counter).calls)
      if (seen.length === 1) throw new SerializationConflict('The first run conflicts')
    })
  await run()
  await run()
  expect(seen).toEqual([1, 1, 1])
})

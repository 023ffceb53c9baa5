import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Work } from '../../../src/store/work.ts'
import { findStream, findWebinar, listWebinars } from '../../../src/webinars/webinars.ts'
import { startApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { makeWebinar } from '../support.ts'

let t: TestApp
let account: TestAccount

beforeAll(async () => {
  t = await startApp()
  account = await t.account()
})
afterAll(() => t.close())

const work = <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(account.id, 'cli:test', run)

test('an id is preferred to a title; a title of several webinars is refused', async () => {
  const { id } = await makeWebinar(t, account, { title: "It's 100 % safe? \\ $1" })
  expect(await work((w) => findWebinar(w, "It's 100 % safe? \\ $1"))).toMatchObject({ id })
  await makeWebinar(t, account, { title: id })
  expect(await work((w) => findWebinar(w, id))).toMatchObject({ id })
  const twice = [await makeWebinar(t, account, { title: 'Twice' }), await makeWebinar(t, account, { title: 'Twice' })]
  await expect(work((w) => findWebinar(w, 'Twice'))).rejects.toMatchObject({
    kind: 'conflict',
    message: `More than one webinar has the title Twice: ${twice.map((one) => one.id).join(', ')}`,
  })
})

test('webinars of another account are neither found nor listed', async () => {
  const stranger = await t.account()
  const foreign = await makeWebinar(t, stranger, { title: 'Foreign', streamUrl: 'https://stream.example/' })
  for (const ref of [foreign.id, 'Foreign'])
    await expect(work((w) => findWebinar(w, ref))).rejects.toMatchObject({ kind: 'not_found' })
  expect(await work((w) => findStream(w, foreign.id))).toBe(null)
  expect((await work((w) => listWebinars(w))).map(({ title }) => title)).not.toContain('Foreign')
  expect(await t.app.work(stranger.id, 'cli:test', (w) => findStream(w, foreign.id))).toBe('https://stream.example/')
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { setMode } from '../../src/tools/catcher/catcher.mode.ts'
import { type Catcher, caughtIds, openCatcher, removeCaught } from '../../src/tools/catcher/catcher.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { eventually } from '../support/deliveries.ts'
import { freeform, queueMany, sendingAccount, startMail, tallyMessages } from '../support/messages.ts'

let t: TestApp
let catcher: Catcher
let folder: string
let account: TestAccount

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-mode-'))
  catcher = await openCatcher(0, folder, () => new Date())
  t = await startApp({ env: { SVC_SMTP_URL: catcher.url }, development: true })
})
beforeEach(async () => {
  account = await sendingAccount(t)
})
afterEach(() => {
  catcher.release()
  removeCaught(folder, caughtIds(folder))
})
afterAll(async () => {
  await t.close()
  await catcher.close()
  await rm(folder, { recursive: true, force: true })
})

const send = async (to = 'ada@people.example') =>
  (await t.request('POST', '/send', { key: account.key, body: freeform({ to }) })).body
const mode = (...args: string[]) =>
  svc({ env: { ...t.env, SVC_DATA_DIR: folder } }, ['mail', 'mode', ...args, '--json'])
const caught = () => caughtIds(folder).length
const suppressions = () => t.app.sql('select 1 from suppressions where account_id = $1', [account.id])

test('refuse answers 5xx: POST /send reports failed with the reason; no email is caught, no address suppressed', async () => {
  expect((await mode('refuse')).json).toEqual({ mode: 'refuse', times: null })
  expect(await send()).toEqual({
    id: expect.stringMatching(/^msg_/),
    status: 'failed',
    error: expect.stringMatching(/^The relay refused the message: 550 .*svc mail mode accept/),
  })
  expect([caught(), await suppressions()]).toEqual([0, []])
  expect((await mode()).json).toEqual({ mode: 'refuse', times: null })
  expect((await mode('accept')).json).toEqual({ mode: 'accept', times: null })
  expect(await send()).toMatchObject({ status: 'sent' })
  expect(caught()).toBe(1)
})

test('refuse with --times refuses that many emails and then accepts email again', async () => {
  expect((await mode('refuse', '--times', '2')).json).toEqual({ mode: 'refuse', times: 2 })
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await send()).status)
  expect(statuses).toEqual(['failed', 'failed', 'sent'])
  expect((await mode()).json).toEqual({ mode: 'accept', times: null })
})

test('defer answers 4xx: POST /send reports failed, and queued email is retried', async () => {
  setMode(folder, 'defer', 2)
  expect(await send()).toMatchObject({ status: 'failed', error: expect.stringContaining('451') })
  const worker = await openApp(readConfig(t.env))
  const loop = startMail(worker)
  try {
    await queueMany(t.app, account.id, 1)
    await eventually(async () => {
      const [row] = await t.app.sql<{ tries: number }>(
        'select tries from message_queue where account_id = $1 and not is_handing',
        [account.id],
      )
      return row?.tries === 1
    })
    expect([caught(), await tallyMessages(t.app, account.id)]).toEqual([0, { failed: 1, pending: 1 }])
    await t.advance(3_600_000)
    await eventually(async () => (await tallyMessages(t.app, account.id)).sent === 1)
    expect(caught()).toBe(1)
  } finally {
    await loop.stop()
    await worker.close()
  }
})

test('hang does not answer: POST /send reports pending after 10 s, and the email is sent after a switch to accept', async () => {
  await mode('hang', '--times', '1')
  const began = performance.now()
  const [held, next] = await Promise.all([
    send(),
    eventually(() => catcher.held() === 1).then(() => send('bob@people.example')),
  ])
  expect(performance.now() - began).toBeGreaterThan(9_500)
  expect([held.status, next.status, caught()]).toEqual(['pending', 'sent', 1])
  await mode('accept')
  await eventually(async () => (await tallyMessages(t.app, account.id)).sent === 2)
  expect([caught(), catcher.held()]).toEqual([2, 0])
})

test('a hanging email is refused, deferred or kept as the next mode says, and accepted when svc dev stops', async () => {
  setMode(folder, 'hang', null)
  const refused = send()
  await eventually(() => catcher.held() === 1)
  setMode(folder, 'hang', null)
  // The next email shows that the catcher has read the mode again; the first one is still held.
  const later = send('bob@people.example')
  await eventually(() => catcher.held() === 2)
  setMode(folder, 'refuse', null)
  expect(await refused).toMatchObject({ status: 'failed' })
  expect(await later).toMatchObject({ status: 'failed' })
  setMode(folder, 'hang', null)
  const last = send()
  await eventually(() => catcher.held() === 1)
  catcher.release()
  expect(await last).toMatchObject({ status: 'sent' })
  expect(caught()).toBe(1)
})

test('an unknown mode, times for accept, and a catcher that does not run are refused', async () => {
  expect((await mode('explode')).status).toBe(2)
  expect((await mode('accept', '--times', '2')).status).toBe(2)
  expect((await mode('refuse', '--times', '0')).status).toBe(2)
  expect((await mode('--times', '2')).status).toBe(2)
  const nowhere = await svc({ env: { ...t.env, SVC_DATA_DIR: join(folder, 'nowhere') } }, ['mail', 'mode', 'refuse'])
  expect([nowhere.status, nowhere.stdout]).toEqual([7, ''])
  expect(nowhere.stderr).toBe(
    'error: No mail catcher is running here\n  next: svc dev starts one; name its data folder with SVC_DATA_DIR\n',
  )
})

test.each([['list'], ['show', 'x'], ['mode']])(
  'svc mail %s where no mail catcher ran says where to look',
  async (...words) => {
    const nowhere = join(folder, 'nowhere')
    const ran = await svc({ env: { ...t.env, SVC_DATA_DIR: nowhere } }, ['mail', ...words])
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([
      7,
      '',
      `error: No mail catcher ran here: there is no ${nowhere}\n  next: svc dev starts one; name its data folder with SVC_DATA_DIR\n`,
    ])
  },
)

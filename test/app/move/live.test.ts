import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { claimSlug } from '../../../src/accounts/accounts.ts'
import { exportAccount, importAccount } from '../../../src/app/move/move.ts'
import { readQueues } from '../../../src/app/queue-depths.ts'
import { createList } from '../../../src/contacts/lists/lists.ts'
import { createForm, FormFile } from '../../../src/forms/forms.ts'
import type { TokenPurpose } from '../../../src/lib/token.ts'
import { createWebinar, NewWebinar } from '../../../src/webinars/webinars.ts'
import { ok, useApp } from '../../support/app.ts'
import { emitEvents, eventually, latePosts, startDeliveries, subscribe, tally } from '../../support/deliveries.ts'
import { created } from '../../support/fixture.ts'
import { freeform, queueMany, sendingAccount, startMail, tallyMessages } from '../../support/messages.ts'
import { useReceiver } from '../../support/receiver.ts'
import { openSink } from '../../support/smtp.ts'

const sink = created(openSink)
afterAll(() => sink.close())
const receiver = useReceiver()
const secret = { SVC_SECRET: 'one secret for both, for tests' }
const envOf = () => ({ ...secret, SVC_SMTP_URL: sink.url, SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' })
const source = useApp(() => ({ env: envOf() }))
const target = useApp(() => ({ env: envOf() }))

const folder = mkdtempSync(join(tmpdir(), 'svc-move-'))
afterAll(() => rmSync(folder, { recursive: true }))
const run = () => ({
  ...{ actor: 'cli:test', passphrase: 'a passphrase', signal: new AbortController().signal, onRows: () => {} },
})

test.each([
  [200, { delivered: 1 }],
  // Its target ends with it, in a unit of work of the account.
  [410, { cancelled: 1 }],
])(
  'a post under way, answered with %i, is recorded before the account has moved: 503, then 410',
  async (status, ended) => {
    const account = await source.account()
    const neighbour = await source.account()
    const { app } = source
    await app.operate('cli:test', (operation) => claimSlug(operation, account.id, `moving-${status}`))
    const { form, webinar } = await app.work(account.id, 'cli:test', async (work) => {
      await createList(work, { name: 'A', fields: [] })
      return {
        form: await createForm(work, FormFile.parse({ name: 'Signup', list: 'A', fields: ['name'] })),
        webinar: await createWebinar(work, NewWebinar.parse({ title: 'Launch', accessMode: 'registration' })),
      }
    })
    const token = (purpose: TokenPurpose) => app.tokens.sign(purpose, [account.id, 'x', 'x'], null)
    const calls = [
      () => source.request('GET', '/contacts?email=ada@people.example', { key: account.key }),
      () => source.request('POST', '/send', { key: account.key, body: freeform() }),
      () => source.request('POST', '/deals', { key: account.key, body: {} }),
      ...[
        `/u/${token('unsubscribe')}`,
        `/t/c/${token('click')}`,
        `/f/${form.id}`,
        `/webinar/${webinar.id}`,
        `/webinar/${webinar.id}/thanks`,
        `/moving-${status}/crs_1/embed?token=x`,
        `/join/${token('join')}`,
        `/api/v1/liveview/${token('liveview')}`,
      ].map((path) => () => source.request('GET', path)),
    ]
    const answer = Promise.withResolvers<void>()
    receiver.next({ until: answer.promise, status })
    await subscribe(app, account.id, `${receiver.url}/under-way`)
    await emitEvents(app, account.id)
    const before = receiver.requests.length
    const jobs = startDeliveries(app)
    await receiver.arrived(before + 1)
    const path = join(folder, `under-way-${status}.account`)
    const exporting = exportAccount(app, account.id, path, '1.0', run())
    await eventually(async () => (await calls[0]!()).status === 503)
    for (const call of calls) {
      const reply = await call()
      expect([reply.status, Number(reply.headers['retry-after'])]).toEqual([503, 30])
    }
    expect(existsSync(path)).toBe(false)
    answer.resolve()
    await exporting
    await jobs.stop()
    // On a slow machine the post can time out before the calls have ended: then this failure is recorded.
    const isLate = (await latePosts(app, account.id)) > 0
    expect(await tally(app, account.id)).toEqual(isLate ? { pending: 1 } : ended)
    expect(receiver.requests).toHaveLength(before + 1)
    for (const call of calls) expect((await call()).status).toBe(410)
    await ok(source.request('GET', '/pipelines', { key: neighbour.key }))
  },
)

test('what waits leaves once, from the target; keys and links work there', async () => {
  const account = await sendingAccount(source)
  const neighbour = await sendingAccount(source)
  const { app } = source
  await subscribe(app, account.id, `${receiver.url}/moved`)
  await emitEvents(app, account.id)
  await queueMany(app, account.id, 1)
  const path = join(folder, 'waiting.account')
  await exportAccount(app, account.id, path, '1.0', run())
  // Nothing waits here any more: no alert about a queue that is stuck.
  expect((await readQueues(app)).map(({ depth }) => depth)).toEqual([0, 0, 0])
  const before = receiver.requests.length
  await subscribe(app, neighbour.id, `${receiver.url}/neighbour`)
  await emitEvents(app, neighbour.id)
  await queueMany(app, neighbour.id, 1)
  const here = [startDeliveries(app), startMail(app)]
  await receiver.arrived(before + 1)
  await sink.arrived(1)

  await importAccount(target.app, path, { ...run(), dryRun: false })
  const there = [startDeliveries(target.app), startMail(target.app)]
  await eventually(async () => (await tally(target.app, account.id)).delivered === 1)
  await eventually(async () => (await tallyMessages(target.app, account.id)).sent === 1)
  for (const job of [...here, ...there]) await job.stop()
  expect(receiver.requests.slice(before).map((request) => request.path)).toEqual(['/neighbour', '/moved'])
  expect(sink.mails).toHaveLength(2)
  expect(await tally(app, account.id)).toEqual({ pending: 1 })
  expect(await tallyMessages(app, account.id)).toEqual({ pending: 1 })

  await ok(target.request('GET', '/pipelines', { key: account.key }))
  const token = app.tokens.sign('unsubscribe', [account.id, 'ada@people.example'], null)
  await ok(target.request('GET', `/u/${token}`))
  expect((await source.request('GET', '/pipelines', { key: account.key })).status).toBe(410)
})

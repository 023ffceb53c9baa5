import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { newSigningSecret, signedHeaders } from '../../src/lib/signature.ts'
import { openConsole } from '../../src/tools/console/console.ts'
import type { Receiver } from '../../src/webhooks/receiver.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'

let page: Page
let receiver: Receiver
let folder: string
const secret = newSigningSecret()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-receiver-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const noClock = () => Promise.reject(new Error('Nobody moves the clock here'))

const open = (port = 0) =>
  openConsole({
    hiddenPaths: ['/sample/harbour.png'],
    port,
    token: 'token',
    secret: () => secret,
    now: () => new Date(),
    dataDir: folder,
    clock: { advance: noClock, reset: noClock },
    held: () => null,
    daemonOrigins: () => [],
  })

const post = (id: string, data: unknown = {}, { signedWith = secret, type = 'contact.created' } = {}) => {
  const body = JSON.stringify({ id, type, createdAt: Date.now(), data })
  const headers = { ...signedHeaders(signedWith, Date.now(), 'evt_key', body), 'content-type': 'application/json' }
  return fetch(receiver.hookUrl, { method: 'POST', headers, body })
}

describePages('the receiver page', (openPage) => {
  beforeEach(async () => {
    receiver = await open()
    page = await openPage({ viewport: { width: 375, height: 700 } })
    await page.goto(`${receiver.url}/webhooks`)
  })
  afterEach(async () => {
    await page.close()
    await receiver.close()
  })

  const rows = () => page.locator('#deliveries > li')
  const shows = (text: string) => page.getByText(text).first().waitFor()

  test('shows each delivery as it arrives, newest first, with its JSON on demand', async () => {
    await shows('Nothing has arrived yet')
    expect((await post('evt_1', { contact: { email: 'first@example.org' } })).status).toBe(204)
    await post('evt_2', {}, { type: 'deal.created' })
    await shows('2 deliveries, 0 not verified')
    expect(await rows().locator('.id').allTextContents()).toEqual(['evt_2', 'evt_1'])
    expect(await rows().nth(0).locator('summary').textContent()).toMatch(/deal\.created[\s\S]*✓ verified[\s\S]*204/)
    await rows().nth(1).locator('summary').click()
    await shows('first@example.org')
    expect(await rows().nth(1).locator('pre').textContent()).toContain('\n  "type": "contact.created"')
    expect(faultsOf(page)).toEqual([])
  })

  test('it shows earlier deliveries, and those that failed verification with the reason', async () => {
    expect((await post('evt_bad', {}, { signedWith: 'whsec_another' })).status).toBe(401)
    await post('evt_good')
    await page.reload()
    await shows('2 deliveries, 1 not verified')
    expect(await rows().locator('.mark').allTextContents()).toEqual(['✓ verified', '✗ signature mismatch'])
  })

  test('posted content is shown as text, never as markup', async () => {
    const attack = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    await post(attack, { attack }, { type: attack })
    await rows().first().locator('summary').click()
    await rows().first().locator('pre').waitFor()
    expect(await page.locator('#deliveries img, #deliveries script').count()).toBe(0)
    expect(await rows().first().locator('.type').textContent()).toBe(attack)
    expect(await page.title()).toBe('Webhook receiver · svc dev')
    expect(faultsOf(page)).toEqual([])
  })

  test('its policy forbids foreign scripts', async () => {
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { textContent: 'ran = 1' }))`,
    )
    expect(await page.evaluate('typeof ran')).toBe('undefined')
    expect(faultsOf(page).join()).toContain('Content Security Policy')
  })

  test('it stays usable while thousands arrive, and shows the last 200', async () => {
    await post('evt_start')
    await shows('1 delivery')
    let posted = 0
    let isUsable = false
    const posting = (async () => {
      for (; posted < 3000 || !isUsable; posted += 50)
        await Promise.all(Array.from({ length: 50 }, (_, i) => post(`evt_${posted + i}`)))
    })()
    const pause = page.getByRole('button', { name: 'Pause' })
    const resume = page.getByRole('button', { name: 'Resume' })
    await expect.poll(() => posted).toBeGreaterThan(500)
    await pause.click()
    await resume.click()
    await pause.waitFor()
    isUsable = true
    await posting
    await shows(`${(posted + 1).toLocaleString('en')} deliveries, 0 not verified`)
    expect(await rows().count()).toBe(200)
    expect(faultsOf(page)).toEqual([])
  })

  test('it does not change while it is paused, and catches up afterwards', async () => {
    await page.getByRole('button', { name: 'Pause' }).click()
    await post('evt_1')
    const other = await openPage()
    await other.goto(`${receiver.url}/webhooks`)
    await post('evt_2')
    await other.getByText('2 deliveries').first().waitFor()
    await other.close()
    expect(await rows().count()).toBe(0)
    await page.getByRole('button', { name: 'Resume' }).click()
    await shows('2 deliveries')
    expect(await rows().count()).toBe(2)
  })

  test('it reports a lost connection and continues after a reconnect', async () => {
    await post('evt_1')
    await shows('1 delivery')
    await receiver.close()
    await shows('Not connected')
    receiver = await open(receiver.port)
    await post('evt_2')
    await shows('evt_2')
    await shows('1 delivery,')
    expect(await rows().locator('.id').allTextContents()).toEqual(['evt_2'])
  })

  test('it is accessible, fits every screen, and loads nothing from other hosts', async () => {
    await post('evt_01m7z5d0h9g3sfrpypq771vaz9', {}, { signedWith: 'whsec_another' })
    await post(`evt_${'x'.repeat(300)}`, { long: 'y'.repeat(2000) })
    await post('evt_01m7z5d0h9x23w5kv0a092qm5g', {
      contact: { email: 'ada@example.org', fields: { first_name: 'Ada' } },
    })
    await shows('3 deliveries')
    await rows().nth(0).locator('summary').click()
    await rows().nth(1).locator('summary').click()
    await page.locator('pre').nth(1).waitFor()
    await expectGoodOnEveryScreen(page, 'receiver')
    expectNothingFromElsewhere(page, receiver.url)
  })
})

test('scripts can read the deliveries of the receiver page as JSON', async () => {
  receiver = await open()
  try {
    await post('evt_1', { n: 1 })
    const answer = await fetch(`${receiver.url}/deliveries`)
    expect(await answer.json()).toMatchObject({
      total: 1,
      notVerified: 0,
      deliveries: [{ id: 'evt_1', type: 'contact.created', status: 204, verified: true, verdict: 'ok' }],
    })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    for (const path of ['/nothing', '/constructor', '/hook/token'])
      expect((await fetch(receiver.url + path)).status).toBe(404)
    expect((await fetch(`${receiver.url}/hook/guess`, { method: 'POST' })).status).toBe(404)
  } finally {
    await receiver.close()
  }
})

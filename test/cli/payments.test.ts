import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openShop, payByStripe, type Shop } from '../checkout/support.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { type Ran, svc } from '../support/cli.ts'
import { answer, type EngagedApp, publicUrl, startEngaged } from '../support/engagement.ts'
import { type FakeStripe, openStripe, postStripeEvent, stripeKey, webhookSecret } from '../support/stripe.ts'

let engaged: EngagedApp
let t: TestApp
let stripe: FakeStripe
let shop: Shop
let folder: string

beforeAll(async () => {
  stripe = await openStripe()
  engaged = await startEngaged({ env: { SVC_STRIPE_API_URL: stripe.url } })
  t = engaged.t
  folder = await mkdtemp(join(tmpdir(), 'svc-payments-'))
})
beforeEach(async () => {
  shop = await openShop(engaged)
})
afterAll(async () => {
  await engaged.close()
  await stripe.close()
  await rm(folder, { recursive: true, force: true })
})

const run = (args: string[], options = {}): Promise<Ran> => svc(t, [...args, '--account', shop.account.id], options)
const json = async (args: string[], options = {}) => {
  const ran = await run([...args, '--json'], options)
  expect([ran.stderr, ran.status]).toEqual(['', 0])
  return ran.json
}
const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}
const set = (key: string, secret: string, ...more: string[]) => [
  'payments',
  'provider',
  'set',
  '--provider',
  'stripe',
  '--key-file',
  key,
  '--webhook-secret-file',
  secret,
  ...more,
]

test('a provider is set from files or stdin, shown with its last 4 and its webhook, and unset', async () => {
  const none = await run(['payments', 'provider', 'show'])
  expect([none.status, none.stderr]).toEqual([
    3,
    'error: Payments are not set up\n  next: svc payments provider set --provider stripe\n',
  ])
  const view = { provider: 'stripe', keyLast4: '4242', webhookUrl: `${publicUrl}/p/stripe/${shop.account.id}` }
  const [key, secret] = [await file('key', `${stripeKey}\n`), await file('secret', `${webhookSecret}\n`)]
  expect(await json(set(key, '-'), { stdin: `${webhookSecret}\n` })).toEqual(view)
  expect(await json(['payments', 'provider', 'show'])).toEqual(view)
  const plain = await run(set(key, secret))
  expect([plain.status, plain.stdout]).toEqual([
    0,
    `provider\tstripe\nkeyLast4\t4242\nwebhookUrl\t${view.webhookUrl}\n`,
  ])
  const dry = await run(['payments', 'provider', 'unset', '--dry-run'])
  expect([dry.status, dry.stderr]).toEqual([
    0,
    'Would remove the account’s payment provider and its secrets. Nothing was changed.\n',
  ])
  expect((await run(['payments', 'provider', 'unset'])).status).toBe(2)
  expect(await json(['payments', 'provider', 'unset', '--yes'])).toEqual({ ok: true, removed: true })
  expect(await json(['payments', 'provider', 'unset', '--yes'])).toEqual({ ok: true, removed: false })
})

test('an unknown provider and an invalid secret are exit 2; the provider test is refused outside development', async () => {
  const [key, secret] = [await file('key', stripeKey), await file('secret', webhookSecret)]
  const missing = await run(['payments', 'provider', 'set'])
  expect([missing.status, missing.stderr]).toEqual([
    2,
    expect.stringMatching(
      /^error: Missing --provider, --key-file, --webhook-secret-file\n {2}next: svc payments provider set .*--provider <name> --key-file <file\|-> --webhook-secret-file <file\|->\n$/,
    ),
  ])
  const refusals: [string[], string][] = [
    [['payments', 'provider', 'set', '--provider', 'paypal'], '--provider must be stripe'],
    [set('-', '-'), 'Only one of --key-file and --webhook-secret-file can be read from stdin'],
    [set(join(folder, 'none'), secret), "--key-file names a file that can't be read"],
    [set(await file('empty', '\n'), secret), '--key-file holds no secret'],
    [set(secret, key), 'key must be a secret key of Stripe'],
    [set(key, key), 'webhook-secret must be the signing secret of a Stripe webhook'],
    [set(await file('public', 'pk_test_51AbCdEf'), secret), 'not the publishable one'],
  ]
  await Promise.all(
    refusals.map(async ([args, sentence]) => {
      const ran = await run(args)
      expect([args.slice(3), ran.status, ran.stdout]).toEqual([args.slice(3), 2, ''])
      expect(ran.stderr).toContain(sentence)
      expect(ran.stderr).not.toContain(stripeKey)
    }),
  )
  const own = await run(['payments', 'provider', 'set', '--provider', 'test'])
  expect([own.status, own.stderr]).toEqual([
    6,
    'error: The provider test is only available in a development database\n  next: svc dev\n',
  ])
})

test('payments are listed newest first, page by page, and shown with their items', async () => {
  await payByStripe(t, shop.account.id)
  await ok(answer(t, shop.mail, 'pay', {}))
  const paid = { ...stripe.sessions.at(-1), payment_status: 'paid' }
  const { payments } = await json(['payments', 'list'])
  expect(payments).toEqual([
    {
      id: expect.stringMatching(/^pay_/),
      status: 'open',
      amount: 39.85,
      currency: 'USD',
      items: [
        { name: 'Seat for Ada', quantity: 2, amount: 19.9 },
        { name: 'Bag', quantity: 1, amount: 0.05 },
      ],
      email: 'ada@people.example',
      projectId: shop.account.projectId,
      messageId: shop.mail.id,
      blockId: 'pay',
      provider: 'stripe',
      createdAt: expect.any(Number),
      paidAt: null,
    },
  ])
  await ok(postStripeEvent(t, shop.account.id, 'checkout.session.expired', paid))
  await ok(answer(t, shop.mail, 'pay', {}))
  await ok(
    postStripeEvent(t, shop.account.id, 'checkout.session.completed', {
      ...stripe.sessions.at(-1),
      payment_status: 'paid',
    }),
  )
  const first = await json(['payments', '--limit', '1'])
  expect(first.payments).toMatchObject([{ status: 'paid', paidAt: expect.any(Number) }])
  const second = await json(['payments', '--limit', '1', '--cursor', first.nextCursor])
  expect(second).toMatchObject({ payments: [{ id: payments[0].id, status: 'expired', paidAt: null }] })
  expect(second.nextCursor).toBeUndefined()
  expect((await json(['payments', '--status', 'paid'])).payments).toEqual(first.payments)
  expect(await json(['payments', 'show', payments[0].id])).toEqual(second.payments[0])
  expect((await run(['payments', '-q'])).stdout).toBe(`${first.payments[0].id}\n${payments[0].id}\n`)
  const stranger = await t.account()
  const foreign = await svc(t, ['payments', 'show', payments[0].id, '--account', stranger.id])
  expect([foreign.status, foreign.stdout]).toEqual([3, ''])
  expect((await svc(t, ['payments', '--account', stranger.id, '--json'])).json).toEqual({ payments: [] })
})

import { type CommandList, command, group } from '../cli/define.ts'
import { argument, changing, confirmed, paged, text } from '../cli/flags.ts'
import { readSecret } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import type { PaymentView } from './checkout.ts'

const columns: Column<PaymentView>[] = [
  ...properties<PaymentView>('id', 'status'),
  ['AMOUNT', ({ amount, currency }) => `${amount} ${currency}`, 'pipe'],
  ['AMOUNT', ({ amount, currency }) => ({ amount, currency }), 'terminal'],
  ...properties<PaymentView>('email', 'createdAt', 'paidAt'),
]

const statusOf = async (text: string | undefined): Promise<PaymentView['status'] | null> => {
  const { paymentStatuses } = await import('./checkout.ts')
  const status = paymentStatuses.find((one) => one === text)
  if (text !== undefined && !status) throw new Problem('usage', `--status must be one of ${paymentStatuses.join(', ')}`)
  return status ?? null
}

const secretOf = async (file: string | undefined, flag: string, question: string): Promise<string> => {
  const secret = (await readSecret(file, flag, question))!.trim()
  if (secret === '') throw new Problem('usage', `${flag} holds no secret`)
  return secret
}

/** The commands `svc payments`: payments and the payment provider. */
export const commands: CommandList = [
  command({
    path: 'payments list',
    isDefault: true,
    summary: 'List payments, newest first',
    examples: ['svc payments --status paid', 'svc payments list --json'],
    flags: {
      status: text('<status>', 'only payments with this status: open, paid or expired', {
        of: async () => (await import('./checkout.find.ts')).paymentStatuses,
      }),
      ...paged,
    },
    run: async ({ pages, work }, flags) => {
      const status = await statusOf(flags.status)
      const { listPayments } = await import('./checkout.ts')
      await pages('payments', flags, (page) => work((w) => listPayments(w, { status }, page)), columns)
    },
  }),

  command({
    path: 'payments show',
    summary: 'Show a payment with its items',
    examples: [
      'svc payments show pay_01m82xtxmmvg2qj0qr50gtn6ay',
      'svc payments show pay_01m82xtxmmvg2qj0qr50gtn6ay --json',
    ],
    arguments: [argument('<id>')],
    run: async ({ out, work }, id) => {
      const { showPayment } = await import('./checkout.ts')
      out.one(await work((w) => showPayment(w, id)))
    },
  }),

  group({ path: 'payments provider', summary: 'Manage the payment provider of the account' }),

  command({
    path: 'payments provider set',
    summary: 'Set the payment provider of the account',
    examples: [
      'svc payments provider set --provider stripe --key-file key.txt --webhook-secret-file secret.txt',
      'svc payments provider set --provider stripe --key-file - --webhook-secret-file secret.txt < key.txt',
    ],
    flags: {
      provider: text('<name>', 'stripe, or in a development database also test (a page of this host)', {
        of: ['stripe', 'test'],
      }),
      keyFile: text('<file|->', 'the secret key of Stripe, from a file or standard input'),
      webhookSecretFile: text('<file|->', 'the signing secret of the Stripe webhook, from a file or standard input'),
      ...changing(),
    },
    run: async ({ app, asks, out, require, work }, flags) => {
      const isTest = flags.provider === 'test'
      const { keyFile, webhookSecretFile } = flags
      if (isTest && (keyFile !== undefined || webhookSecretFile !== undefined))
        throw new Problem('usage', 'The provider test takes no --key-file and no --webhook-secret-file')
      if (flags.provider !== undefined && flags.provider !== 'stripe' && !isTest)
        throw new Problem('usage', '--provider must be stripe')
      const { setStripe, setTest } = await import('./checkout.ts')
      if (isTest) return out.one(await work(setTest))
      // On a terminal the command asks for the secrets, so the files are optional.
      const files = asks ? [] : (['keyFile', 'webhookSecretFile'] as const)
      const { provider: name } = await require(flags, 'provider', ...files)
      if (name !== 'stripe') throw new Problem('usage', '--provider must be stripe')
      if (keyFile === '-' && webhookSecretFile === '-')
        throw new Problem('usage', 'Only one of --key-file and --webhook-secret-file can be read from stdin')
      const key = await secretOf(keyFile, '--key-file', 'Secret key of Stripe:')
      const webhookSecret = await secretOf(webhookSecretFile, '--webhook-secret-file', 'Signing secret of the webhook:')
      const shown = await work((w) => setStripe(app, w, { key, webhookSecret }))
      out.one(shown)
      if (out.format === 'table')
        out.note(
          `In Stripe, add a webhook for checkout.session.completed, checkout.session.async_payment_succeeded and checkout.session.expired to ${shown.webhookUrl}`,
        )
    },
  }),

  command({
    path: 'payments provider show',
    isDefault: true,
    summary: 'Show the payment provider and the webhook URL to enter at Stripe',
    examples: ['svc payments provider show', 'svc payments provider show --json'],
    run: async ({ app, out, work }) => {
      const { showProvider } = await import('./checkout.ts')
      out.one(await work((w) => showProvider(app, w)))
    },
  }),

  command({
    path: 'payments provider unset',
    summary: 'Remove the payment provider of the account',
    examples: ['svc payments provider unset --dry-run', 'svc payments provider unset --yes'],
    flags: confirmed(),
    run: async ({ out, work, confirm }, options) => {
      const { countOpenPayments, unsetProvider } = await import('./checkout.ts')
      const open = await work(countOpenPayments)
      const left = open > 0 ? `; ${quantity(open, 'open payment')} can't be confirmed after that` : ''
      if (!(await confirm(`remove the account’s payment provider and its secrets${left}`, options, { open }))) return
      out.one({ ok: true, removed: await work(unsetProvider) })
    },
  }),
]

import type { Command } from 'commander'
import { type Cli, type CommandSet, type Confirmation, changing, confirmed, examples, paged } from '../cli/command.ts'
import { readSecret } from '../cli/input.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import type { PaymentView } from './checkout.ts'

const columns: Column<PaymentView>[] = [
  ['ID', (payment) => payment.id],
  ['STATUS', (payment) => payment.status],
  ['AMOUNT', ({ amount, currency }) => `${amount} ${currency}`, 'pipe'],
  ['AMOUNT', ({ amount, currency }) => ({ amount, currency }), 'terminal'],
  ['EMAIL', (payment) => payment.email],
  ['CREATED', (payment) => new Date(payment.createdAt)],
  ['PAID', ({ paidAt }) => (paidAt === null ? null : new Date(paidAt))],
]

const statusOf = async (text: string | undefined): Promise<PaymentView['status'] | null> => {
  const { paymentStatuses } = await import('./checkout.ts')
  const status = paymentStatuses.find((one) => one === text)
  if (text !== undefined && !status) throw new Problem('usage', `--status must be one of ${paymentStatuses.join(', ')}`)
  return status ?? null
}

interface ProviderFlags {
  provider?: string
  keyFile?: string
  webhookSecretFile?: string
}

const secretOf = async (file: string | undefined, flag: string, question: string): Promise<string> => {
  const secret = (await readSecret(file, flag, question))!.trim()
  if (secret === '') throw new Problem('usage', `${flag} holds no secret`)
  return secret
}

const addProvider = (noun: Command, cli: Cli): void => {
  const provider = noun.command('provider').description('Manage the payment provider of the account')

  changing(
    provider
      .command('set')
      .description('Set the payment provider of the account')
      .addHelpText(
        'after',
        examples(
          'svc payments provider set --provider stripe --key-file key.txt --webhook-secret-file secret.txt',
          'svc payments provider set --provider stripe --key-file - --webhook-secret-file secret.txt < key.txt',
        ),
      )
      .option('--provider <name>', 'stripe, or in a development database also test (a page of this host)')
      .option('--key-file <file|->', 'the secret key of Stripe, from a file or standard input')
      .option(
        '--webhook-secret-file <file|->',
        'the signing secret of the Stripe webhook, from a file or standard input',
      ),
  ).action(
    cli.run(async ({ app, asks, out, require, work }, flags: ProviderFlags) => {
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
    }),
  )

  provider
    .command('show', { isDefault: true })
    .description('Show the payment provider and the webhook URL to enter at Stripe')
    .addHelpText('after', examples('svc payments provider show', 'svc payments provider show --json'))
    .action(
      cli.run(async ({ app, out, work }) => {
        const { showProvider } = await import('./checkout.ts')
        out.one(await work((w) => showProvider(app, w)))
      }),
    )

  confirmed(
    provider
      .command('unset')
      .description('Remove the payment provider of the account')
      .addHelpText('after', examples('svc payments provider unset --dry-run', 'svc payments provider unset --yes')),
  ).action(
    cli.run(async ({ out, work, confirm }, options: Confirmation) => {
      const { countOpenPayments, unsetProvider } = await import('./checkout.ts')
      const open = await work(countOpenPayments)
      const left = open > 0 ? `; ${quantity(open, 'open payment')} can't be confirmed after that` : ''
      if (!(await confirm(`remove the account’s payment provider and its secrets${left}`, options, { open }))) return
      out.one({ ok: true, removed: await work(unsetProvider) })
    }),
  )
}

/** `svc payments`: payments and the payment provider. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('payments')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List payments, newest first')
      .addHelpText('after', examples('svc payments --status paid', 'svc payments list --json'))
      .option('--status <status>', 'only payments with this status: open, paid or expired'),
  ).action(
    cli.run(async ({ pages, work }, flags: PageFlags & { status?: string }) => {
      const status = await statusOf(flags.status)
      const { listPayments } = await import('./checkout.ts')
      await pages('payments', flags, (page) => work((w) => listPayments(w, { status }, page)), columns)
    }),
  )

  noun
    .command('show')
    .description('Show a payment with its items')
    .addHelpText(
      'after',
      examples(
        'svc payments show pay_01m82xtxmmvg2qj0qr50gtn6ay',
        'svc payments show pay_01m82xtxmmvg2qj0qr50gtn6ay --json',
      ),
    )
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showPayment } = await import('./checkout.ts')
        out.one(await work((w) => showPayment(w, id)))
      }),
    )

  addProvider(noun, cli)
}

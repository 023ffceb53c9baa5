import type { Command } from 'commander'
import { type Cli, type CommandSet, paged } from '../cli/command.ts'
import { readInput } from '../cli/input.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { PaymentView } from './checkout.ts'

const columns: Column<PaymentView>[] = [
  ['ID', (payment) => payment.id],
  ['STATUS', (payment) => payment.status],
  ['AMOUNT', ({ amount, currency }) => `${amount} ${currency}`],
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

const secretOf = async (file: string, flag: string): Promise<string> => {
  const secret = (await readInput(file, flag)).trim()
  if (secret === '') throw new Problem('usage', `${flag} holds no secret`)
  return secret
}

const addProvider = (noun: Command, cli: Cli): void => {
  const provider = noun.command('provider').description('Where recipients pay')

  provider
    .command('set')
    .description('Have recipients pay at a provider of the account’s own')
    .option('--provider <name>', 'stripe; in a development database also test, a page of this host')
    .option('--key-file <file|->', 'Stripe’s secret key, from a file or standard input')
    .option(
      '--webhook-secret-file <file|->',
      'the signing secret of the Stripe webhook that svc payments provider show names',
    )
    .action(
      cli.run(async ({ app, out, require, work }, flags: ProviderFlags) => {
        const isTest = flags.provider === 'test'
        const { keyFile, webhookSecretFile } = flags
        if (isTest && (keyFile !== undefined || webhookSecretFile !== undefined))
          throw new Problem('usage', 'The provider test takes no --key-file and no --webhook-secret-file')
        if (flags.provider !== undefined && flags.provider !== 'stripe' && !isTest)
          throw new Problem('usage', '--provider must be stripe')
        const { setStripe, setTest } = await import('./checkout.ts')
        if (isTest) return out.one(await work(setTest))
        const files = await require({
          provider: flags.provider,
          'key-file': keyFile,
          'webhook-secret-file': webhookSecretFile,
        })
        if (files.provider !== 'stripe') throw new Problem('usage', '--provider must be stripe')
        if (files['key-file'] === '-' && files['webhook-secret-file'] === '-')
          throw new Problem('usage', 'Only one of --key-file and --webhook-secret-file can be read from stdin')
        const key = await secretOf(files['key-file'], '--key-file')
        const webhookSecret = await secretOf(files['webhook-secret-file'], '--webhook-secret-file')
        const shown = await work((w) => setStripe(app, w, { key, webhookSecret }))
        out.one(shown)
        if (out.format === 'table')
          out.note(
            `Have Stripe post checkout.session.completed, .async_payment_succeeded and .expired to ${shown.webhookUrl}`,
          )
      }),
    )

  provider
    .command('show', { isDefault: true })
    .description('Show where recipients pay, and the URL that Stripe must be told')
    .action(
      cli.run(async ({ app, out, work }) => {
        const { showProvider } = await import('./checkout.ts')
        out.one(await work((w) => showProvider(app, w)))
      }),
    )

  provider
    .command('unset')
    .description('Take no payments by the account’s own provider any more')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, options: { yes?: boolean; dryRun?: boolean }) => {
        if (!(await confirm('forget the account’s payment provider and its secrets', options))) return
        const { unsetProvider } = await import('./checkout.ts')
        out.one({ ok: true, removed: await work(unsetProvider) })
      }),
    )
}

/** `svc payments`: what recipients paid, and where. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('payments')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List payments, newest first')
      .option('--status <status>', 'open, paid or expired'),
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
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showPayment } = await import('./checkout.ts')
        out.one(await work((w) => showPayment(w, id)))
      }),
    )

  addProvider(noun, cli)
}

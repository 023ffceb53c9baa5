import { createReadStream } from 'node:fs'
import { type CommandSet, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { SuppressionView } from './messages.ts'

const columns: Column<SuppressionView>[] = [
  ['EMAIL', (suppression) => suppression.email],
  ['REASON', (suppression) => suppression.reason],
  ['SINCE', (suppression) => new Date(suppression.createdAt)],
]

const reasonOption = (text: string) => ['--reason <reason>', text] as const
const reasons = 'complained, bounced, manual or unsubscribed'

const parseReason = async (text: string) => {
  const [{ SuppressionReasonShape }, { parse }] = await Promise.all([
    import('./messages.ts'),
    import('../lib/parse.ts'),
  ])
  return parse(SuppressionReasonShape, text, 'reason')
}

const parseAddress = async (text: string): Promise<string> => {
  const [{ Recipient }, { parse }] = await Promise.all([import('./messages.ts'), import('../lib/parse.ts')])
  return parse(Recipient, text, 'email')
}

/** `svc suppressions`: who gets no mail, or no marketing. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('suppressions')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List suppressed addresses')
      .option(...reasonOption(`of this reason: ${reasons}`))
      .option('--email <email>', 'of this address'),
  ).action(
    cli.run(async ({ pages, work }, flags: PageFlags & { reason?: string; email?: string }) => {
      const { listSuppressions } = await import('./messages.ts')
      const filter = {
        reason: flags.reason === undefined ? null : await parseReason(flags.reason),
        email: flags.email === undefined ? null : await parseAddress(flags.email),
      }
      await pages('suppressions', flags, (page) => work((w) => listSuppressions(w, filter, page)), columns)
    }),
  )

  noun
    .command('add')
    .description('Suppress an address')
    .argument('<email>')
    .option(...reasonOption(`${reasons}; unsubscribed stops marketing only`), 'manual')
    .action(
      cli.run(async ({ out, work }, text: string, flags: { reason: string }) => {
        const [email, reason] = [await parseAddress(text), await parseReason(flags.reason)]
        const { suppressAddresses } = await import('./messages.ts')
        const added = await work((w) => suppressAddresses(w, [email], reason))
        out.one({ email, reason, added: added.length > 0 })
      }),
    )

  noun
    .command('remove')
    .description('Send to an address again')
    .argument('<email>')
    .option(...reasonOption('only this one of its reasons'))
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(
        async ({ out, work, confirm }, text: string, flags: { reason?: string; yes?: boolean; dryRun?: boolean }) => {
          const email = await parseAddress(text)
          const reason = flags.reason === undefined ? null : await parseReason(flags.reason)
          const { listSuppressions, removeSuppressions } = await import('./messages.ts')
          const { rows } = await work((w) => listSuppressions(w, { email, reason }, { limit: 10 }))
          if (rows.length === 0)
            throw new Problem('missing', `${email} is not suppressed`, { hint: 'svc suppressions list' })
          const what = rows.map((row) => row.reason).join(', ')
          const planned = { email, removed: rows.length }
          if (!(await confirm(`send to ${email} again, although it was ${what}`, flags, planned))) return
          out.one({ email, removed: await work((w) => removeSuppressions(w, email, reason)) })
        },
      ),
    )

  noun
    .command('import')
    .description('Suppress the addresses of a file: one a line, or CSV with the columns email and reason')
    .argument('<file|->')
    .option(...reasonOption(`for rows without one: ${reasons}`), 'manual')
    .option('--dry-run', 'only count')
    .action(
      cli.run(
        async ({ out, work, progress, signal, exit }, file: string, flags: { reason: string; dryRun?: boolean }) => {
          const reason = await parseReason(flags.reason)
          const { importSuppressions } = await import('./messages.ts')
          const bytes = file === '-' ? process.stdin : createReadStream(file)
          const { dryRun = false } = flags
          const bar = progress('rows')
          const onRows = (rows: number) => bar.update({ rows, fraction: null })
          const run = importSuppressions(work, bytes, reason, { dryRun, signal, onRows }).finally(bar.stop)
          const counts = await run.catch((error) => {
            if (error.code === 'ENOENT') throw new Problem('missing', `There is no file ${file}`)
            throw error
          })
          out.one({ ...(dryRun && { dryRun }), ...counts })
          if (dryRun) out.note('Nothing was changed.')
          if (counts.rejected > 0) exit(5)
        },
      ),
    )
}

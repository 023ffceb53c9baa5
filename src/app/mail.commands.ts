import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandSet } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { CaughtMail } from './dev.mail.ts'

interface MailView {
  id: string
  from: string
  to: string
  subject: string
  at: number
}

interface Filter {
  to?: string
  subject?: string
}

const columns: Column<MailView>[] = [
  ['ID', (mail) => mail.id],
  ['TO', (mail) => mail.to],
  ['SUBJECT', (mail) => mail.subject],
  ['FROM', (mail) => mail.from],
  ['AT', (mail) => new Date(mail.at)],
]

const pollMs = 100

/** Where `svc dev` of this environment keeps what it caught. */
const dataDir = (): string => resolve(process.env.SVC_DATA_DIR || '.svc')

const parseMail = async ({ raw }: CaughtMail) =>
  (await import('postal-mime')).default.parse(raw, { attachmentEncoding: 'utf8' })

const viewOf = async (mail: CaughtMail): Promise<MailView> => ({
  id: mail.id,
  from: mail.from,
  to: mail.to.join(', '),
  subject: (await parseMail(mail)).subject ?? '',
  at: mail.at,
})

/** What was caught and fits, newest first. */
const find = async ({ to, subject }: Filter, limit: number): Promise<CaughtMail[]> => {
  const { caughtIds, readCaught } = await import('./dev.mail.ts')
  const found: CaughtMail[] = []
  for (const id of caughtIds(dataDir()).reverse()) {
    const mail = readCaught(dataDir(), id)
    if (!mail || (to !== undefined && !mail.to.includes(to.toLowerCase()))) continue
    if (subject !== undefined && !(await viewOf(mail)).subject.includes(subject)) continue
    found.push(mail)
    if (found.length >= limit) break
  }
  return found
}

const detailOf = async (mail: CaughtMail) => {
  const { headerLines, html, text, attachments } = await parseMail(mail)
  const headers = Object.fromEntries(
    headerLines.map(({ key, line }) => [key, line.slice(line.indexOf(':') + 1).trim()]),
  )
  const calendar = attachments.find(({ mimeType }) => mimeType === 'text/calendar')?.content as string | undefined
  return { ...(await viewOf(mail)), headers, html: html ?? null, text: text ?? null, calendar: calendar ?? null }
}

/** `svc mail`: what the mail catcher of `svc dev` caught. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('mail', 'Mail that the catcher of svc dev has caught')

  noun
    .command('list', { isDefault: true })
    .description('List caught mail, newest first')
    .option('--to <email>', 'to this address')
    .option('--subject <text>', 'with this in its subject')
    .action(
      cli.run(
        async ({ out }, filter: Filter) => {
          await out.list('mail', await Promise.all((await find(filter, 1000)).map(viewOf)), columns)
        },
        { app: 'none' },
      ),
    )

  noun
    .command('show')
    .description('Show a mail: headers, text, HTML and calendar entry')
    .argument('<id>')
    .option('--raw', 'as it came')
    .action(
      cli.run(
        async ({ out }, id: string, { raw }: { raw?: boolean }) => {
          const { readCaught } = await import('./dev.mail.ts')
          const mail = /^msg_[0-9a-z]+$/.test(id) ? readCaught(dataDir(), id) : null
          if (!mail) throw new Problem('missing', `There is no mail ${id}`, { hint: 'svc mail list' })
          if (raw) return out.line(mail.raw)
          out.one(await detailOf(mail))
        },
        { app: 'none' },
      ),
    )

  noun
    .command('wait')
    .description('Show the newest mail that fits, waiting for one where there is none')
    .option('--to <email>', 'to this address')
    .option('--subject <text>', 'with this in its subject')
    .option('--timeout <duration>', 'such as 30s', '30s')
    .action(
      cli.run(
        async ({ out, signal }, { timeout, ...filter }: Filter & { timeout: string }) => {
          const { parseDuration } = await import('../lib/since.ts')
          const endsAt = performance.now() + parseDuration(timeout)
          for (;;) {
            const [mail] = await find(filter, 1)
            if (mail) return out.one(await detailOf(mail))
            if (signal.aborted) return
            if (performance.now() >= endsAt) throw new Problem('unauthorized', `No such mail came within ${timeout}`)
            await sleep(pollMs)
          }
        },
        { app: 'none' },
      ),
    )

  noun
    .command('clear')
    .description('Forget what was caught')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(
        async ({ out, confirm }, options: { yes?: boolean; dryRun?: boolean }) => {
          const { caughtIds, removeCaught } = await import('./dev.mail.ts')
          const ids = caughtIds(dataDir())
          if (!(await confirm(`forget ${ids.length} caught mails`, options))) return
          removeCaught(dataDir(), ids)
          out.one({ ok: true, removed: ids.length })
        },
        { app: 'none' },
      ),
    )
}

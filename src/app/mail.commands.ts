import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandSet } from '../cli/command.ts'
import type { Column, Output } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { MailMode } from './dev.mail.mode.ts'
import type { MailView } from './dev.mail.read.ts'
import type { CaughtMail } from './dev.mail.ts'

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

const look = async (mail: CaughtMail): Promise<MailView> => {
  const { parseMail, viewOf } = await import('./dev.mail.read.ts')
  return viewOf(mail, await parseMail(mail))
}

const lookInto = async (mail: CaughtMail) => {
  const { detailOf, parseMail } = await import('./dev.mail.read.ts')
  return detailOf(mail, await parseMail(mail))
}

/** What was caught and fits, newest first. */
const find = async ({ to, subject }: Filter, limit: number): Promise<CaughtMail[]> => {
  const { caughtIds, readCaught } = await import('./dev.mail.ts')
  const found: CaughtMail[] = []
  for (const id of caughtIds(dataDir()).reverse()) {
    const mail = readCaught(dataDir(), id)
    if (!mail || (to !== undefined && !mail.to.includes(to.toLowerCase()))) continue
    if (subject !== undefined && !(await look(mail)).subject.includes(subject)) continue
    found.push(mail)
    if (found.length >= limit) break
  }
  return found
}

const timesOf = (text: string | undefined): number | null => {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Problem('usage', '--times must be a whole number, 1 or more')
  return Number(text)
}

const printMode = (out: Output, mode: MailMode, times: number | null) =>
  out.one({ mode, times }, { mode: times === null ? mode : `${mode} (${times} times, then accept)` })

/** `svc mail`: what the mail catcher of `svc dev` caught. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('mail')

  noun
    .command('list', { isDefault: true })
    .description('List caught mail, newest first')
    .option('--to <email>', 'to this address')
    .option('--subject <text>', 'with this in its subject')
    .action(
      cli.run(
        async ({ out }, filter: Filter) => {
          await out.list('mail', await Promise.all((await find(filter, 1000)).map(look)), columns)
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
          out.one(await lookInto(mail))
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
            if (mail) return out.one(await lookInto(mail))
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
          if (!(await confirm(`forget ${ids.length} caught mails`, options, { removed: ids.length }))) return
          removeCaught(dataDir(), ids)
          out.one({ ok: true, removed: ids.length })
        },
        { app: 'none' },
      ),
    )

  noun
    .command('mode')
    .description('Show what the catcher does with mail, or have it accept, refuse (5xx), defer (4xx) or hang')
    .argument('[mode]', 'accept, refuse, defer or hang; what hangs is let go by the next mode')
    .option('--times <n>', 'for the next n mails alone, then accept again')
    .action(
      cli.run(
        async ({ out }, mode: string | undefined, flags: { times?: string }) => {
          const [{ mailModes, readMode, setMode }, { caughtBy }] = await Promise.all([
            import('./dev.mail.mode.ts'),
            import('./config.ts'),
          ])
          const times = timesOf(flags.times)
          if (mode === undefined) {
            if (times !== null) throw new Problem('usage', '--times needs a mode: refuse, defer or hang')
            const now = readMode(dataDir())
            return printMode(out, now.mode, now.times)
          }
          const wanted = mailModes.find((known) => known === mode)
          if (!wanted) throw new Problem('usage', `The mode is one of ${mailModes.join(', ')}, not ${mode}`)
          if (wanted === 'accept' && times !== null) throw new Problem('usage', 'accept takes no --times')
          if (caughtBy(dataDir()) === null)
            throw new Problem('unavailable', 'No mail catcher is running here', {
              hint: 'svc dev starts one; name its data folder with SVC_DATA_DIR',
            })
          const set = setMode(dataDir(), wanted, times)
          printMode(out, set.mode, set.times)
        },
        { app: 'none' },
      ),
    )
}

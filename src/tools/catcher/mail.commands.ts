import { setTimeout as sleep } from 'node:timers/promises'
import { dataDirOf } from '../../app/config.ts'
import { type CommandSet, type Confirmation, confirmed, examples } from '../../cli/command.ts'
import { type LetterFlags, lettered, showLetter } from '../../cli/letter.ts'
import type { Column, Output } from '../../cli/output.ts'
import { actAsOwner } from '../../embedded/folder.ts'
import { pageRequest } from '../../lib/page-request.ts'
import { noSuch, Problem, shown } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import type { MailMode } from './catcher.mode.ts'
import type { MailView } from './catcher.read.ts'
import type { CaughtMail } from './catcher.ts'

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

/** Returns the data folder of `svc dev`. */
const dataDir = (): string => {
  const path = dataDirOf(process.env)
  actAsOwner(path)
  return path
}

const look = async (mail: CaughtMail): Promise<MailView> => {
  const { parseMail, viewOf } = await import('./catcher.read.ts')
  return viewOf(mail, await parseMail(mail))
}

const lookInto = async (mail: CaughtMail) => {
  const { detailOf, parseMail } = await import('./catcher.read.ts')
  return detailOf(mail, await parseMail(mail))
}

/** Prints an email. Its date is when it was caught, by the development clock. */
const print = async (out: Output, mail: CaughtMail, flags: LetterFlags = {}): Promise<void> => {
  const thing = await lookInto(mail)
  const { id, at, headers, subject, text, html, calendar } = thing
  const [from, to] = [headers.from ?? thing.from, headers.to ?? thing.to]
  const shown = {
    id,
    from,
    to,
    subject,
    date: new Date(at),
    ...(calendar !== null && { calendar: 'attached: --source' }),
  }
  const letter = { thing, headers: shown, text, html, lack: 'This email has no such part: --source prints all of it' }
  await showLetter(out, letter, flags, (print) => print(mail.raw))
}

/** Returns caught emails that match, newest first. */
const find = async ({ to, subject }: Filter, limit: number): Promise<CaughtMail[]> => {
  const { caughtIds, readCaught } = await import('./catcher.ts')
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

/** Returns how far the development clock, which dates caught emails, is ahead; 0 if the database is unavailable. */
const aheadMs = async (): Promise<number> => {
  try {
    const { openForInspection } = await import('../../app/open.ts')
    const app = await openForInspection()
    try {
      return app.now().getTime() - Date.now()
    } finally {
      await app.close()
    }
  } catch {
    return 0
  }
}

const timesOf = (text: string | undefined): number | null => {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Problem('usage', '--times must be a whole number, 1 or more')
  return Number(text)
}

const printMode = (out: Output, mode: MailMode, times: number | null) =>
  out.one({ mode, times }, { mode: times === null ? mode : `${mode} (${quantity(times, 'time')}, then accept)` })

/** `svc mail`: emails caught by `svc dev`. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('mail')

  noun
    .command('list', { isDefault: true })
    .description('List caught emails, newest first')
    .addHelpText('after', examples('svc mail --to ada@example.com', 'svc mail list --subject Welcome --limit 5'))
    .option('--to <email>', 'to this address')
    .option('--subject <text>', 'with this in its subject')
    .option('--limit <n>', 'rows to show, 1 to 1000 (default: all)')
    .action(
      cli.run(
        async ({ out }, { limit = '1000', ...filter }: Filter & { limit?: string }) => {
          const page = pageRequest({ limit })
          await out.list('mail', await Promise.all((await find(filter, page.limit)).map(look)), columns, null, {
            called: 'email',
          })
        },
        { app: 'none', aheadMs },
      ),
    )

  const show = noun
    .command('show')
    .description('Show a caught email: its headers, then its text')
    .addHelpText(
      'after',
      examples('svc mail show msg_01m82xtqaxrmrt3v4050vc411s', 'svc mail show msg_01m82xtqaxrmrt3v4050vc411s --open'),
    )
    .argument('<id>', 'its id, or that of the send (svc sends)')
    .option('--raw', 'the same as --source')
  lettered(show, 'print the raw message').action(
    cli.run(
      async ({ out }, id: string, { raw, ...flags }: LetterFlags & { raw?: boolean }) => {
        const { findCaught } = await import('./catcher.ts')
        const mail = findCaught(dataDir(), id)
        if (!mail) throw noSuch('email', id, { hint: 'svc mail list' })
        await print(out, mail, { ...flags, ...(raw && { source: true }) })
      },
      { app: 'none', aheadMs },
    ),
  )

  noun
    .command('wait')
    .description('Show the newest matching email, or wait for one')
    .addHelpText(
      'after',
      examples('svc mail wait --to ada@example.com', 'svc mail wait --subject Welcome --timeout 2m --json'),
    )
    .option('--to <email>', 'to this address')
    .option('--subject <text>', 'with this in its subject')
    .option('--timeout <duration>', 'how long to wait, such as 30s', '30s')
    .action(
      cli.run(
        async ({ out, signal }, { timeout, ...filter }: Filter & { timeout: string }) => {
          const { parseDuration } = await import('../../lib/since.ts')
          const endsAt = performance.now() + parseDuration(timeout)
          for (;;) {
            const [mail] = await find(filter, 1)
            if (mail) return print(out, mail)
            if (signal.aborted) return
            if (performance.now() >= endsAt) throw new Problem('internal', `No such email arrived within ${timeout}`)
            await sleep(pollMs)
          }
        },
        { app: 'none', aheadMs },
      ),
    )

  confirmed(
    noun
      .command('clear')
      .description('Delete all caught emails')
      .addHelpText('after', examples('svc mail clear --dry-run', 'svc mail clear --yes')),
  ).action(
    cli.run(
      async ({ out, confirm }, options: Confirmation) => {
        const { caughtIds, removeCaught } = await import('./catcher.ts')
        const ids = caughtIds(dataDir())
        if (!(await confirm(`delete ${quantity(ids.length, 'caught email')}`, options, { removed: ids.length }))) return
        removeCaught(dataDir(), ids)
        out.one({ ok: true, removed: ids.length })
      },
      { app: 'none' },
    ),
  )

  noun
    .command('mode')
    .description('Show or set how caught email is answered: accept, refuse (5xx), defer (4xx) or hang')
    .addHelpText('after', examples('svc mail mode', 'svc mail mode defer --times 3'))
    .argument('[mode]', 'accept, refuse, defer or hang; the next mode releases held emails')
    .option('--times <n>', 'only for the next n emails, then accept again')
    .action(
      cli.run(
        async ({ out }, mode: string | undefined, flags: { times?: string }) => {
          const [{ mailModes, readMode, setMode }, { runningCatcher }] = await Promise.all([
            import('./catcher.mode.ts'),
            import('../../app/config.ts'),
          ])
          const times = timesOf(flags.times)
          if (mode === undefined) {
            if (times !== null) throw new Problem('usage', '--times needs a mode: refuse, defer or hang')
            const now = readMode(dataDir())
            return printMode(out, now.mode, now.times)
          }
          const wanted = mailModes.find((known) => known === mode)
          if (!wanted) throw new Problem('usage', `Unknown mode ${shown(mode)}; available: ${mailModes.join(', ')}`)
          if (wanted === 'accept' && times !== null) throw new Problem('usage', "accept can't be combined with --times")
          if (runningCatcher(dataDir()) === null)
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

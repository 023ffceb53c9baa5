import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataDirOf } from '../../app/config.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { argument, confirmed, present, text } from '../../cli/flags.ts'
import { type LetterFlags, letterFlags, showLetter } from '../../cli/letter.ts'
import { type Column, type Output, properties } from '../../cli/output.ts'
import { actAsOwner } from '../../embedded/folder.ts'
import { pageRequest } from '../../lib/page-request.ts'
import { noSuch, Problem, shown } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import { parseDuration } from '../../lib/since.ts'
import type { MailMode } from './catcher.mode.ts'
import type { MailView } from './catcher.read.ts'
import type { CaughtMail } from './catcher.ts'

interface Filter {
  to?: string
  subject?: string
}

const columns: Column<MailView>[] = [
  ...properties<MailView>('id', 'to', 'subject'),
  ['FROM', (mail) => mail.from, 'wide'],
  ['AT', (mail) => new Date(mail.at)],
]

const pollMs = 100

/** Returns the data folder of `svc dev`. */
const dataDir = (): string => {
  const path = dataDirOf(process.env)
  actAsOwner(path)
  return path
}

/** Returns the data folder of `svc dev`. Throws Problem `unavailable` if there is none, because the emails are then in another one. */
const existingDataDir = (): string => {
  const path = dataDir()
  if (!existsSync(path)) throw noCatcher(`No mail catcher ran here: there is no ${path}`)
  return path
}

const noCatcher = (sentence: string) =>
  new Problem('unavailable', sentence, { hint: 'svc dev starts one; name its data folder with SVC_DATA_DIR' })

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
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Problem('usage', '--times must be a whole number from 1 to 999999')
  return Number(text)
}

const printMode = (out: Output, mode: MailMode, times: number | null) =>
  out.one({ mode, times }, { mode: times === null ? mode : `${mode} (${quantity(times, 'time')}, then accept)` })

/** The commands `svc mail`, for emails that `svc dev` caught. */
export const commands: CommandList = [
  command({
    path: 'mail list',
    isDefault: true,
    summary: 'List caught emails, newest first',
    examples: ['svc mail --to ada@example.com', 'svc mail list --subject Welcome --limit 5'],
    flags: {
      to: text('<email>', 'only emails to this address'),
      subject: text('<text>', 'only emails with this in their subject'),
      limit: text('<n>', 'rows to show, 1 to 1000 (default: all)'),
    },
    app: 'none',
    aheadMs,
    run: async ({ out }, { limit = '1000', ...filter }) => {
      const page = pageRequest({ limit })
      existingDataDir()
      await out.list('mail', await Promise.all((await find(filter, page.limit)).map(look)), columns, null, {
        called: 'email',
      })
    },
  }),

  command({
    path: 'mail show',
    summary: 'Show a caught email: its headers, then its text',
    examples: ['svc mail show msg_01m82xtqaxrmrt3v4050vc411s', 'svc mail show msg_01m82xtqaxrmrt3v4050vc411s --open'],
    arguments: [argument('<id>', 'its id, or that of the send (svc sends)', { noun: 'caught emails' })],
    flags: { raw: present('the same as --source'), ...letterFlags('print the raw message') },
    app: 'none',
    aheadMs,
    run: async ({ out }, id, { raw, ...flags }) => {
      const { findCaught } = await import('./catcher.ts')
      const mail = findCaught(existingDataDir(), id)
      if (!mail) throw noSuch('email', id, { hint: 'svc mail list' })
      await print(out, mail, { ...flags, ...(raw && { source: true }) })
    },
  }),

  command({
    path: 'mail wait',
    summary: 'Show the newest matching email, or wait for one',
    examples: ['svc mail wait --to ada@example.com', 'svc mail wait --subject Welcome --timeout 2m --json'],
    flags: {
      to: text('<email>', 'only emails to this address'),
      subject: text('<text>', 'only emails with this in their subject'),
      timeout: text('<duration>', 'how long to wait, such as 30s', { default: '30s' }),
    },
    app: 'none',
    aheadMs,
    run: async ({ out, signal }, { timeout, ...filter }) => {
      const endsAt = performance.now() + parseDuration(timeout)
      for (;;) {
        const [mail] = await find(filter, 1)
        if (mail) return print(out, mail)
        if (signal.aborted) return
        if (performance.now() >= endsAt) throw new Problem('internal', `No such email arrived within ${timeout}`)
        await sleep(pollMs)
      }
    },
  }),

  command({
    path: 'mail clear',
    summary: 'Delete all caught emails',
    examples: ['svc mail clear --dry-run', 'svc mail clear --yes'],
    flags: confirmed(),
    app: 'none',
    run: async ({ out, confirm }, options) => {
      const { caughtIds, removeCaught } = await import('./catcher.ts')
      const ids = caughtIds(dataDir())
      const asked = { ...options, ...(ids.length === 0 && { yes: true }) }
      if (!(await confirm(`delete ${quantity(ids.length, 'caught email')}`, asked, { removed: ids.length }))) return
      removeCaught(dataDir(), ids)
      out.one({ ok: true, removed: ids.length })
    },
  }),

  command({
    path: 'mail mode',
    summary: 'Show or set how caught email is answered: accept, refuse (5xx), defer (4xx) or hang',
    examples: ['svc mail mode', 'svc mail mode defer --times 3'],
    arguments: [
      argument('[mode]', 'accept, refuse, defer or hang; the next mode releases held emails', {
        of: async () => (await import('./catcher.mode.ts')).mailModes,
      }),
    ],
    flags: { times: text('<n>', 'only for the next n emails, then accept again') },
    app: 'none',
    run: async ({ out }, mode, flags) => {
      const { mailModes, readMode, setMode } = await import('./catcher.mode.ts')
      const { runningCatcher } = await import('../../app/config.ts')
      const times = timesOf(flags.times)
      if (mode === undefined) {
        if (times !== null) throw new Problem('usage', '--times needs a mode: refuse, defer or hang')
        const now = readMode(existingDataDir())
        return printMode(out, now.mode, now.times)
      }
      const wanted = mailModes.find((known) => known === mode)
      if (!wanted) throw new Problem('usage', `Unknown mode ${shown(mode)}; available: ${mailModes.join(', ')}`)
      if (wanted === 'accept' && times !== null) throw new Problem('usage', "accept can't be combined with --times")
      if (runningCatcher(dataDir()) === null) throw noCatcher('No mail catcher is running here')
      const set = setMode(dataDir(), wanted, times)
      printMode(out, set.mode, set.times)
    },
  }),
]

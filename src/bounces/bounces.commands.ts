import { createReadStream } from 'node:fs'
import { collectEarly } from '../cli/command.ts'
import { type CommandList, command, group } from '../cli/define.ts'
import { argument, changing, confirmed, needed, text } from '../cli/flags.ts'
import { passwordQuestion, readSecret } from '../cli/input.ts'
import { notFound, Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'

/** The bytes of a file, or of standard input for `-`. Throws Problem `not_found` or `usage` where they can't be read. */
const readBytes = async function* (file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) yield chunk as Uint8Array
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw notFound(`There is no file ${file}`)
    if (code === 'EISDIR' || code === 'EACCES') throw new Problem('usage', `${file} can't be read (${code})`)
    throw error
  }
}

/** The commands `svc bounces`: delivery reports and complaints. */
export const commands: CommandList = [
  command({
    path: 'bounces ingest',
    summary: 'Record delivery reports and complaints from a message or an mbox; without --account, of all accounts',
    examples: ['svc bounces ingest report.eml', 'svc bounces ingest - < reports.mbox'],
    arguments: [argument('<file|->')],
    flags: confirmed('only count, and change nothing'),
    before: collectEarly,
    run: async (context, file, { yes, dryRun = false }) => {
      const { app, account, actor, asks, confirm, out, signal, exit, withProgress } = context
      const accountId = context.isAccountNamed ? (await account()).id : null
      const { ingestBounces } = await import('./bounces.ts')
      const ingest = (isTrial: boolean) =>
        withProgress('messages', null, (onRead) =>
          ingestBounces(app, readBytes(file), { accountId, actor, dryRun: isTrial, signal, onRead }),
        )
      // A mail server may pipe its reports to this command, so standard input is never followed by a question.
      if (asks && file !== '-' && !yes && !dryRun) {
        const { bounced, complained } = await ingest(true)
        const reports = `${quantity(bounced, 'bounce')} and ${quantity(complained, 'complaint')}`
        if (bounced + complained > 0 && !(await confirm(`record ${reports}, and suppress the addresses`, {}))) return
      }
      const counts = await ingest(dryRun)
      out.one({ ...(dryRun && { dryRun }), ...counts })
      if (dryRun) out.note('Nothing was changed.')
      if (counts.unmatched > 0) exit(5)
    },
  }),

  group({
    path: 'bounces mailbox',
    summary: 'Manage the mailbox that receives delivery reports; it is read every minute',
  }),

  command({
    path: 'bounces mailbox set',
    summary: 'Set the mailbox to read reports from; read messages are marked as seen',
    examples: [
      'svc bounces mailbox set --url imaps://bounces@imap.example.com --password-file password.txt',
      'svc bounces mailbox set --url imaps://bounces@imap.example.com:993 --password-file - < password.txt',
    ],
    flags: {
      url: needed('<url>', 'the mailbox: imaps://user@host[:993][/folder]; imap:// requires STARTTLS'),
      passwordFile: text('<file|->', 'the password, from a file or standard input'),
      ...changing(),
    },
    run: async ({ app, asks, out, work }, { url, passwordFile }) => {
      const password = await readSecret(passwordFile, '--password-file', passwordQuestion(asks, url))
      const { setMailbox } = await import('./bounces.ts')
      out.one(await work((w) => setMailbox(app, w, { url, password })))
    },
  }),

  command({
    path: 'bounces mailbox show',
    isDefault: true,
    summary: 'Show the mailbox and the result of the latest read',
    examples: ['svc bounces mailbox show', 'svc bounces mailbox show --json'],
    run: async ({ out, work }) => {
      const { showMailbox } = await import('./bounces.ts')
      out.one(await work(showMailbox))
    },
  }),

  command({
    path: 'bounces mailbox test',
    summary: 'Sign in and count unread messages, without reading or marking any',
    examples: ['svc bounces mailbox test', 'svc bounces mailbox test --json'],
    run: async ({ app, account, actor, out, exit }) => {
      const { testMailbox } = await import('./bounces.ts')
      const tested = await testMailbox(app, (await account()).id, actor)
      out.one(tested)
      if (!tested.ok) exit(1)
    },
  }),

  command({
    path: 'bounces mailbox unset',
    summary: 'Stop reading the mailbox',
    examples: ['svc bounces mailbox unset --dry-run', 'svc bounces mailbox unset --yes'],
    flags: confirmed(),
    run: async ({ out, work, confirm }, options) => {
      if (!(await confirm('delete the mailbox and its password', options))) return
      const { unsetMailbox } = await import('./bounces.ts')
      out.one({ ok: true, removed: await work(unsetMailbox) })
    },
  }),
]

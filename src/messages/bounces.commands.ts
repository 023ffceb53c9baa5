import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import type { Cli, CommandSet } from '../cli/command.ts'
import { readInput } from '../cli/input.ts'
import { collectEarly } from '../cli/memory.ts'
import { missing, Problem } from '../lib/problem.ts'

/** The bytes of a file, or of standard input for `-`. Throws Problem `missing` or `usage` where they can't be read. */
const readBytes = async function* (file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) yield chunk as Uint8Array
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw missing(`There is no file ${file}`)
    if (code === 'EISDIR' || code === 'EACCES') throw new Problem('usage', `${file} can't be read (${code})`)
    throw error
  }
}

interface MailboxFlags {
  url?: string
  passwordFile?: string
}

const mailbox = (bounces: Command, cli: Cli): void => {
  const noun = bounces.command('mailbox').description('The mailbox that reports come to, read each minute')

  noun
    .command('set')
    .description('Read reports from a mailbox; what was read is marked as seen')
    .option('--url <url>', 'imaps://user@host[:993][/folder]; imap:// insists on STARTTLS')
    .option('--password-file <file|->', 'the password, from a file or standard input')
    .action(
      cli.run(async ({ app, out, require, work }, flags: MailboxFlags) => {
        const { url } = await require({ url: flags.url })
        const { passwordFile } = flags
        const password =
          passwordFile === undefined ? null : (await readInput(passwordFile, '--password-file')).replace(/\r?\n$/, '')
        if (password === '') throw new Problem('usage', '--password-file holds no password')
        const { setMailbox } = await import('./messages.ts')
        out.one(await work((w) => setMailbox(app, w, { url, password })))
      }),
    )

  noun
    .command('show', { isDefault: true })
    .description('Show the mailbox, and how reading it went the last time')
    .action(
      cli.run(async ({ out, work }) => {
        const { showMailbox } = await import('./messages.ts')
        out.one(await work(showMailbox))
      }),
    )

  noun
    .command('test')
    .description('Sign in and count what is unread; nothing is read or marked')
    .action(
      cli.run(async ({ app, account, out, exit }) => {
        const { testMailbox } = await import('./messages.ts')
        const tested = await testMailbox(app, (await account()).id)
        out.one(tested)
        if (!tested.ok) exit(1)
      }),
    )

  noun
    .command('unset')
    .description('Read no mailbox any more')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, options: { yes?: boolean; dryRun?: boolean }) => {
        if (!(await confirm('forget the mailbox and its password', options))) return
        const { unsetMailbox } = await import('./messages.ts')
        out.one({ ok: true, removed: await work(unsetMailbox) })
      }),
    )
}

/** `svc bounces`: reports of mail that did not arrive, or was not wanted. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bounces')

  noun
    .command('ingest')
    .hook('preAction', collectEarly)
    .description(
      'Read delivery reports and complaints: one message, or an mbox; those of all accounts without --account',
    )
    .argument('<file|->')
    .option('--dry-run', 'only count')
    .action(
      cli.run(async (context, file: string, { dryRun = false }: { dryRun?: boolean }, command: Command) => {
        const { app, account, actor, out, progress, signal, exit } = context
        const isNamed =
          (command.optsWithGlobals<{ account?: string }>().account ?? process.env.SVC_ACCOUNT) !== undefined
        const accountId = isNamed ? (await account()).id : null
        const { ingestBounces } = await import('./messages.ts')
        const bar = progress('messages')
        const onRead = (rows: number) => bar.update({ rows, fraction: null })
        const ingestion = { accountId, actor, dryRun, signal, onRead }
        const counts = await ingestBounces(app, readBytes(file), ingestion).finally(bar.stop)
        out.one({ ...(dryRun && { dryRun }), ...counts })
        if (dryRun) out.note('Nothing was changed.')
        if (counts.unmatched > 0) exit(5)
      }),
    )

  mailbox(noun, cli)
}

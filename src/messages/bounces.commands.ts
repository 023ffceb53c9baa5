import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import type { CommandSet } from '../cli/command.ts'
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

/** `svc bounces`: reports of mail that did not arrive, or was not wanted. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bounces', 'Delivery reports and complaints, and the mailbox that they come to')

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
        const { app, account, actor, out, signal, exit } = context
        const isNamed =
          (command.optsWithGlobals<{ account?: string }>().account ?? process.env.SVC_ACCOUNT) !== undefined
        const accountId = isNamed ? (await account()).id : null
        const { ingestBounces } = await import('./messages.ts')
        const counts = await ingestBounces(app, readBytes(file), { accountId, actor, dryRun, signal })
        out.one(counts)
        if (dryRun) out.note('Nothing was changed.')
        if (counts.unmatched > 0) exit(5)
      }),
    )
}

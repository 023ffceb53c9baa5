import type { Context } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { argument, needed, present, text, unasked } from '../../cli/flags.ts'
import { openSource, readSecret } from '../../cli/input.ts'
import { Problem } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'

interface Flags {
  out?: string
  secretFile?: string
  abort?: boolean
  yes?: boolean
  dryRun?: boolean
}

const passphraseOf = async (secretFile: string): Promise<string> =>
  (await readSecret(secretFile, '--secret-file', null))!

const total = (rows: Record<string, number>): number => Object.values(rows).reduce((sum, count) => sum + count, 0)

const exportTo = async (context: Context, ref: string, flags: Flags): Promise<void> => {
  const { app, actor, out, signal, operate, withProgress } = context
  const { abortExport, countOwned, findDeletable } = await import('../../accounts/accounts.ts')
  const { id, name } = await operate((operation) => findDeletable(operation, ref))
  if (flags.abort) {
    await abortExport(app, id, actor)
    out.note('The account works here again.')
    return out.one({ id, name })
  }
  const given = await context.require(flags, 'out', 'secretFile')
  const passphrase = await passphraseOf(given.secretFile)
  const { exportAccount } = await import('./move.ts')
  const { requireNoFile } = await import('../new-file.ts')
  const { version } = await import('../../cli/version.ts')
  requireNoFile(given.out)
  if (flags.dryRun) {
    const owned = await operate((operation) => countOwned(operation, id))
    out.note('Nothing was changed. This would be exported, and the account would stop working here:')
    return out.one({ dryRun: true, id, name, rows: total(owned), tables: owned }, { id, name, ...owned })
  }
  try {
    const { rows, bytes } = await withProgress('rows', null, (onRows) =>
      exportAccount(app, id, given.out, version(), { actor, passphrase, signal, onRows }),
    )
    out.one({ id, name, file: given.out, rows, bytes })
    out.note(`Import it in the other installation: svc accounts import <file> --secret-file <file>`)
    out.note(`Its rows stay here, unused, until you delete them: svc accounts delete ${id}`)
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    if (syscall === 'open' || syscall === 'rename')
      throw new Problem('usage', `${given.out} can't be written (${code})`)
    if (!signal.aborted) throw error
    out.note(
      `Stopped: the account answers 503. Run the same command again to continue, or svc accounts export ${id} --abort`,
    )
  }
}

const importFrom = async (
  context: Context,
  file: string,
  { secretFile, dryRun = false }: { secretFile: string; dryRun?: boolean },
): Promise<void> => {
  const { app, actor, out, signal, withProgress } = context
  const passphrase = await passphraseOf(secretFile)
  const { importAccount } = await import('./move.ts')
  const handle = await openSource(file)
  const isFile = (await handle.stat()).isFile()
  await handle.close()
  if (!isFile) throw new Problem('usage', `${file} is not a file`)
  try {
    const { id, name, rows } = await withProgress('rows', null, (onRows) =>
      importAccount(app, file, { actor, passphrase, signal, onRows, dryRun }),
    )
    const count = rows && total(rows)
    if (rows === null) out.note('This export was imported before: nothing was changed.')
    else if (dryRun) out.note('The file is complete and can be imported. Nothing was changed.')
    else out.note(`${quantity(count!, 'row')} imported: the account works here.`)
    out.one(
      { ...(dryRun && { dryRun }), id, name, rows: count ?? 0, tables: rows ?? {} },
      { id, name, rows: count ?? 0 },
    )
  } catch (error) {
    if (!signal.aborted) throw error
    out.note('Stopped: nothing was imported; run the command again.')
  }
}

/** The commands `svc accounts export` and `svc accounts import` (docs/reference/cli.md#moving-an-account). */
export const commands: CommandList = [
  command({
    path: 'accounts export',
    summary: 'Move an account to another installation: it stops working here, and is written to an encrypted file',
    examples: [
      'svc accounts export Shop --out shop.account --secret-file passphrase.txt --dry-run',
      'svc accounts export Shop --out shop.account --secret-file passphrase.txt',
    ],
    arguments: [argument('<account>', 'id or name')],
    flags: {
      out: text('<file>', 'a new file'),
      secretFile: text('<file|->', 'the passphrase that encrypts the file; the import needs it too'),
      abort: present('end an export that was interrupted: the account works here again'),
      ...unasked('show what would be exported, and change nothing'),
    },
    account: 'none',
    run: (context, ref, flags) => exportTo(context, ref, flags),
  }),

  command({
    path: 'accounts import',
    summary: 'Import an account that another installation exported: it works here from then on',
    examples: [
      'svc accounts import shop.account --secret-file passphrase.txt --dry-run',
      'svc accounts import shop.account --secret-file passphrase.txt',
    ],
    arguments: [argument('<file>', 'what svc accounts export has written')],
    flags: {
      secretFile: needed('<file|->', 'the passphrase that the file was exported with'),
      ...unasked('check the whole file, and change nothing'),
    },
    account: 'none',
    run: (context, file, flags) => importFrom(context, file, flags),
  }),
]

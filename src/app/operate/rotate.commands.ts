import type { CommandSet, Context } from '../../cli/command.ts'
import { readInput } from '../../cli/input.ts'
import { Problem } from '../../lib/problem.ts'

interface Flags {
  secretFile?: string
  endLinks?: boolean
  yes?: boolean
  dryRun?: boolean
}

const leastLength = 16

/** The new secret as the operator gave it; null where they gave none. */
const givenSecret = async ({ secretFile }: Flags): Promise<string | null> => {
  const given = secretFile === undefined ? process.env.SVC_NEW_SECRET : await readInput(secretFile, '--secret-file')
  const secret = given?.trim() || null
  if (secret === null && secretFile === undefined) return null
  if ((secret ?? '').length < leastLength)
    throw new Problem('usage', `The new secret must have at least ${leastLength} characters`)
  return secret
}

const rotate = async (context: Context, flags: Flags): Promise<void> => {
  const { out, confirm } = context
  const given = await givenSecret(flags)
  const [{ openToLook }, { rotateSecret }, { draftSecret, keepDraft, keepsSecret }] = await Promise.all([
    import('./open.ts'),
    import('./rotate.ts'),
    import('../secret.ts'),
  ])
  const isKept = keepsSecret()
  if (given === null && !isKept)
    throw new Problem('usage', 'Missing --secret-file, or SVC_NEW_SECRET: the new secret', {
      hint: 'openssl rand -base64 32 > new-secret; svc secret rotate --secret-file new-secret',
    })
  const app = await openToLook('require').catch((error) => {
    // Between the two secrets: the database has the new one already, and the folder keeps it as a draft.
    if (isKept && (error as Problem).kind === 'configuration') return openToLook()
    throw error
  })
  try {
    const { dataDir, secret: from } = app.config
    const to = isKept ? draftSecret(dataDir, given) : given!
    if (to === from) throw new Problem('usage', 'The new secret is the old one')
    // A dry run goes through with it, and back.
    const yes = flags.yes === true || flags.dryRun === true
    if (!(await confirm('seal everything with the new secret; no daemon starts with the old one then', { yes }))) return
    const rotation = { from, to, endLinks: flags.endLinks === true, dryRun: flags.dryRun === true }
    const resealed = await rotateSecret(app.database, rotation)
    if (flags.dryRun) {
      out.note('Nothing was changed.')
      return out.one({ dryRun: true, resealed })
    }
    if (isKept) keepDraft(dataDir)
    out.one({ resealed: resealed ?? 0, linksKept: !rotation.endLinks })
    if (resealed === null) out.note('It was sealed with the new secret already.')
    out.note(
      isKept ? `The new secret is in the data folder, ${dataDir}.` : 'Start every daemon with the new SVC_SECRET.',
    )
    out.note('A backup from before opens with the old one alone.')
  } finally {
    await app.close()
  }
}

/** `svc secret rotate`. */
export const commands: CommandSet = (cli) => {
  cli
    .noun('secret')
    .command('rotate')
    .description('Seal everything with a new secret, while no daemon runs; links in mails that were sent go on to work')
    .option('--secret-file <file|->', 'the new secret (or SVC_NEW_SECRET); embedded: made anew where it is left out')
    .option('--end-links', 'the old secret is known to others: links signed with it open nothing any more')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say how much it would seal, and whether it could')
    .action(cli.run((context, flags: Flags) => rotate(context, flags), { app: 'none' }))
}

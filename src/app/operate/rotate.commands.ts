import type { Context } from '../../cli/command.ts'
import { type CommandList, command } from '../../cli/define.ts'
import { confirmed, type FlagValues, present, text } from '../../cli/flags.ts'
import { readInput } from '../../cli/input.ts'
import { Problem } from '../../lib/problem.ts'

const rotateFlags = {
  secretFile: text('<file|->', 'the new secret (or SVC_NEW_SECRET; default with the embedded database: a random one)'),
  endLinks: present('invalidate links signed with the old secret, for example after a leak'),
  ...confirmed('check that it would succeed, and show how much it would seal'),
}

type Flags = FlagValues<typeof rotateFlags>

const leastLength = 16

/** Returns the new secret from the file or the environment; null if there is none. */
const givenSecret = async ({ secretFile }: Flags): Promise<string | null> => {
  const given = secretFile === undefined ? process.env.SVC_NEW_SECRET : await readInput(secretFile, '--secret-file')
  const secret = given?.trim() || null
  if (secret === null && secretFile === undefined) return null
  if ((secret ?? '').length < leastLength)
    throw new Problem('usage', `The new secret must have at least ${leastLength} characters`)
  return secret
}

const rotate = async ({ out, confirm }: Context, flags: Flags): Promise<void> => {
  const given = await givenSecret(flags)
  const { openForInspection } = await import('../open.ts')
  const { rotateSecret, usesSecret } = await import('./rotate.ts')
  const { findDraft, keepDraft, keepsSecret, nextSecret, writeDraft } = await import('../secret.ts')
  const isKept = keepsSecret()
  if (given === null && !isKept)
    throw new Problem('usage', 'Missing --secret-file, or SVC_NEW_SECRET: the new secret', {
      hint: 'openssl rand -base64 32 > new-secret; svc secret rotate --secret-file new-secret',
    })
  const app = await openForInspection('require').catch((error) => {
    // After an interrupted rotation the database may use the draft, so the check of the secret fails.
    if (isKept && (error as Problem).kind === 'configuration') return openForInspection()
    throw error
  })
  try {
    const { dataDir, secret: kept } = app.config
    const draft = isKept ? findDraft(dataDir) : null
    // A rotation was interrupted after the database had changed: the draft is the only copy of the database's secret.
    const isHalfDone = draft !== null && draft !== kept && (await usesSecret(app.database, draft))
    const from = isHalfDone ? draft : kept
    const to = isKept ? nextSecret(dataDir, given) : given!
    if (to === from && !isHalfDone) throw new Problem('usage', 'The new secret is the same as the old one')
    // A dry run reseals everything, and rolls back.
    const yes = flags.yes === true || flags.dryRun === true
    if (!(await confirm('seal everything with the new secret; daemons can no longer start with the old one', { yes })))
      return
    const rotation = { from, to, endLinks: flags.endLinks === true, dryRun: flags.dryRun === true }
    if (isKept && !rotation.dryRun) {
      if (isHalfDone) keepDraft(dataDir)
      if (to !== from) writeDraft(dataDir, to)
    }
    const resealed = await rotateSecret(app.database, rotation)
    if (flags.dryRun) {
      out.note('Nothing was changed.')
      return out.one({ dryRun: true, resealed })
    }
    if (isKept && to !== from) keepDraft(dataDir)
    out.one({ resealed: resealed ?? 0, linksKept: !rotation.endLinks })
    if (resealed === null) out.note('The database already used the new secret.')
    out.note(
      isKept ? `The new secret is in the data folder, ${dataDir}.` : 'Start every daemon with the new SVC_SECRET.',
    )
    out.note('Keep the old secret for earlier backups.')
  } finally {
    await app.close()
  }
}

/** The command `svc secret rotate`. */
export const commands: CommandList = [
  command({
    path: 'secret rotate',
    summary: 'Seal stored credentials with a new secret while no daemon runs; links in sent emails keep working',
    examples: [
      'svc secret rotate --secret-file new-secret.txt --dry-run',
      'svc secret rotate --secret-file new-secret.txt --yes',
    ],
    flags: rotateFlags,
    app: 'none',
    run: (context, flags) => rotate(context, flags),
  }),
]

import { execFileSync } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'

/* The version before this one, whose daemons may work beside this schema. */

const root = join(import.meta.dirname, '../..')

const git = (...args: string[]): string => {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return ''
  }
}

/** Returns the last release; without one, the commit before the newest migration. Empty if the history does not reach that far. */
const versionBefore = (): string => {
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*')
  if (tag !== '') return tag
  const newest = git('log', '-1', '--diff-filter=A', '--format=%H', '--', 'migrations')
  return newest === '' ? '' : git('rev-parse', '--verify', '--quiet', `${newest}^`)
}

const before = versionBefore()
const contractions = (...of: string[]): string[] =>
  git('grep', '-l', "change = 'contract'", ...of, '--', 'migrations')
    .split('\n')
    .map((line) => line.slice(line.indexOf(':') + 1))

/** Whether its daemons continue beside this schema. Releases without this module, and those before a contraction, stop for an upgrade. */
export const canContinue =
  before !== '' &&
  git('ls-tree', before, 'src/store/migrations.ts') !== '' &&
  contractions().join() === contractions(before).join()

/** Unpacks the version before into an empty folder, with the packages of this one. Returns the path of its program. */
export const unpackBefore = async (folder: string): Promise<string> => {
  execFileSync('sh', ['-c', `git archive ${before} | tar -x -C ${folder}`], { cwd: root })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'bin/svc.ts')
}

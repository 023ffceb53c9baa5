import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')

/** Copies the files of the checkout, changed and new ones too. Its modules are links. */
export const copyCheckout = async (folder: string): Promise<void> => {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { stdout } = await promisify(execFile)('git', list, { cwd: root })
  const files = stdout.split('\0').filter((file) => file && existsSync(join(root, file)))
  for (const file of files) await cp(join(root, file), join(folder, file), { recursive: true })
  for (const modules of ['node_modules', 'test/client/node_modules'])
    await symlink(join(root, modules), join(folder, modules))
}

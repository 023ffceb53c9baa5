import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../lib/problem.ts'
import { fromPasswd, type spawnOptions } from './embedded.user.ts'

const run = promisify(execFile)
type Options = ReturnType<typeof spawnOptions>

const isNameless = (error: { stderr?: string }): boolean =>
  /could not look up effective user ID/.test(error.stderr ?? '')

/** Where distributions put libnss_wrapper. */
const wrappers = ['x86_64-linux-gnu', 'aarch64-linux-gnu', ''].flatMap((folder) =>
  ['/usr/lib', '/usr/lib64'].map((root) => join(root, folder, 'libnss_wrapper.so')),
)

/** With nss_wrapper in front the user has a name: PostgreSQL's container image does it so. */
const wrapped = async ([program, ...args]: readonly string[], options: Options, place: string): Promise<void> => {
  const library = wrappers.find(existsSync)
  if (!library) throw new Error('nss_wrapper is not installed')
  const uid = options.uid ?? process.getuid!()
  const gid = options.gid ?? process.getgid!()
  const [passwd, group] = [join(place, 'passwd'), join(place, 'group')]
  await writeFile(passwd, `svc:x:${uid}:${gid}::/:/bin/false\n`)
  await writeFile(group, `svc:x:${gid}:\n`)
  for (const file of [passwd, group]) await chmod(file, 0o644)
  const env = { ...options.env, LD_PRELOAD: library, NSS_WRAPPER_PASSWD: passwd, NSS_WRAPPER_GROUP: group }
  await run(program!, args, { ...options, env })
  for (const file of [passwd, group]) await rm(file)
}

/** In a namespace where the user's id is one that has a name; what it writes is the user's. */
const mapped = async (command: readonly string[], options: Options): Promise<void> => {
  const { uid, gid } = await fromPasswd()
  await run('unshare', ['--user', `--map-user=${uid}`, `--map-group=${gid}`, ...command], options)
}

/**
 * Runs `initdb`, which refuses a user id that has no name, as containers often give one: there it is given a name, by
 * nss_wrapper or else a user namespace. Only here: the server itself asks for none. `place` is a folder of the user's to
 * write in. Throws a Problem of kind configuration where neither can be had, and what the run threw.
 */
export const runNamed = async (command: readonly string[], options: Options, place: string): Promise<void> => {
  const [program, ...args] = command
  try {
    await run(program!, args, options)
  } catch (error) {
    if (!isNameless(error as { stderr?: string })) throw error
    await wrapped(command, options, place)
      .catch(() => mapped(command, options))
      .catch(() => {
        throw new Problem(
          'configuration',
          `The embedded database can't be made by the user id ${options.uid ?? process.getuid!()}, which has no name: give it a line in /etc/passwd, install libnss-wrapper, or set DATABASE_URL to a PostgreSQL 15 or newer`,
        )
      })
  }
}

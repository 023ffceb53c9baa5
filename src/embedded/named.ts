import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../lib/problem.ts'
import { fromPasswd, type spawnOptions } from './user.ts'

const run = promisify(execFile)
type Options = ReturnType<typeof spawnOptions>

const isNameless = (error: { stderr?: string }): boolean =>
  /could not look up effective user ID/.test(error.stderr ?? '')

/** Where distributions install libnss_wrapper. */
const wrappers = ['x86_64-linux-gnu', 'aarch64-linux-gnu', ''].flatMap((folder) =>
  ['/usr/lib', '/usr/lib64'].map((root) => join(root, folder, 'libnss_wrapper.so')),
)

/** Creates a file that every user may read. It must not exist: root may write here, in a folder of the server's user. */
const writeReadable = async (path: string, text: string): Promise<void> => {
  const file = await open(path, 'wx')
  try {
    await file.writeFile(text)
    await file.chmod(0o644)
  } finally {
    await file.close()
  }
}

/** Runs a command with nss_wrapper, which gives the user a name, as PostgreSQL's container image does. */
const runWrapped = async ([program, ...args]: readonly string[], options: Options, place: string): Promise<void> => {
  const library = wrappers.find(existsSync)
  if (!library) throw new Error('nss_wrapper is not installed')
  const uid = options.uid ?? process.getuid!()
  const gid = options.gid ?? process.getgid!()
  const [passwd, group] = [join(place, 'passwd'), join(place, 'group')]
  await writeReadable(passwd, `svc:x:${uid}:${gid}::/:/bin/false\n`)
  await writeReadable(group, `svc:x:${gid}:\n`)
  const env = { ...options.env, LD_PRELOAD: library, NSS_WRAPPER_PASSWD: passwd, NSS_WRAPPER_GROUP: group }
  await run(program!, args, { ...options, env })
  for (const file of [passwd, group]) await rm(file)
}

/** Runs a command in a user namespace that maps the user's id to one that has a name. Files that it writes belong to the user. */
const runMapped = async (command: readonly string[], options: Options): Promise<void> => {
  const { uid, gid } = await fromPasswd()
  await run('unshare', ['--user', `--map-user=${uid}`, `--map-group=${gid}`, ...command], options)
}

/**
 * Runs `initdb`, which refuses a user id without a name, as containers often have. Such an id gets a name by nss_wrapper or else
 * by a user namespace. The server itself needs no name. `place` is a folder that the user may write. Throws Problem
 * `configuration` if neither is available, and otherwise the error of the run.
 */
export const runNamed = async (command: readonly string[], options: Options, place: string): Promise<void> => {
  const [program, ...args] = command
  try {
    await run(program!, args, options)
  } catch (error) {
    if (!isNameless(error as { stderr?: string })) throw error
    await runWrapped(command, options, place)
      .catch(() => runMapped(command, options))
      .catch(() => {
        throw new Problem(
          'configuration',
          `The embedded database can't be created by the user id ${options.uid ?? process.getuid!()}, which has no name: give it a line in /etc/passwd, install libnss-wrapper, or set DATABASE_URL to a PostgreSQL 15 or newer`,
        )
      })
  }
}

import { readFileSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem } from '../lib/problem.ts'

/** Where root puts files that the database's user must reach and can't reach in their own place. */
export const systemFolder = '/var/lib/svc'

export const unsupported = () =>
  new Problem(
    'configuration',
    `The embedded database has no build for this platform (${process.platform} ${process.arch}): set DATABASE_URL to a PostgreSQL 15 or newer`,
  )

export const unwritable = (path: string, code: string) =>
  new Problem('configuration', `${path} can't be used (${code}): give it to the user that runs svc, or remove it`)

export interface ServerUser {
  uid: number
  gid: number
}

const isUserZero = (): boolean => process.getuid?.() === 0

/**
 * Returns the outer id of root in a user namespace that maps no other id, as in rootless containers. Such a root can't become
 * another user or change the owner of files. It is undefined if other ids are mapped.
 */
const soleId = (): number | undefined => {
  try {
    const [inside, outside, count, ...others] = readFileSync('/proc/self/uid_map', 'utf8')
      .trim()
      .split(/\s+/)
      .map(Number)
    return inside === 0 && count === 1 && others.length === 0 ? outside : undefined
  } catch {
    // No user namespaces on this system.
    return undefined
  }
}

/** Whether this process is root. A root that is a plain user outside its user namespace counts as that user. */
export const isRoot = (): boolean => isUserZero() && !soleId()

/** Returns the system's `postgres` or `nobody`. */
export const fromPasswd = async (): Promise<ServerUser> => {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  return user ? { uid: Number(user[2]), gid: Number(user[3]) } : { uid: 65534, gid: 65534 }
}

/**
 * Returns the command in the form in which PostgreSQL accepts it from a root that has no other user to run it as: in a nested
 * user namespace, in which the same user has another id. The pid stays the same.
 */
export const asOtherThanRoot = async (command: readonly string[], user: ServerUser | undefined): Promise<string[]> => {
  if (!isUserZero() || user) return [...command]
  const { uid, gid } = await fromPasswd()
  return ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, ...command]
}

/** Returns the Problem of such a root that can't create that namespace. */
export const soleRoot = () =>
  new Problem(
    'configuration',
    "The embedded database can't run as root, and in this user namespace root can't become another user: run svc as a plain user, map more user ids, install util-linux (unshare), or set DATABASE_URL to a PostgreSQL 15 or newer",
  )

/**
 * Returns the user that the server runs as, because PostgreSQL refuses root: for root the owner of the cluster, or else the
 * system's `postgres` or `nobody`. undefined stands for this process's own user (a plain user, or a root that can't become another user).
 */
export const serverUser = async (folder: string): Promise<ServerUser | undefined> => {
  if (!isRoot() || soleId() !== undefined) return undefined
  const cluster = await stat(join(folder, 'pgdata')).catch(() => undefined)
  return cluster && cluster.uid !== 0 ? { uid: cluster.uid, gid: cluster.gid } : fromPasswd()
}

/** Whether the permission bits of a real path and of all its parent folders let the user through. */
export const canReach = (user: ServerUser, path: string): boolean => {
  const { uid, gid, mode } = statSync(path)
  const execute = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
  if (!(mode & execute)) return false
  return path === '/' || canReach(user, dirname(path))
}

/** Options for the server's processes. Their environment has no secrets and no PG variables of the user. */
export const spawnOptions = (user: ServerUser | undefined) => ({
  cwd: '/',
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
  ...user,
})

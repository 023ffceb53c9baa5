import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem } from '../lib/problem.ts'

/** Where root puts what the database's user must reach and can't where it is. */
export const systemPlace = '/var/lib/svc'

export const unsupported = () =>
  new Problem(
    'configuration',
    `The embedded database has no build for this platform (${process.platform} ${process.arch}): set DATABASE_URL to a PostgreSQL 15 or newer`,
  )

export interface ServerUser {
  uid: number
  gid: number
}

export const isRoot = (): boolean => process.getuid?.() === 0

/** The system's `postgres` or `nobody`. */
export const fromPasswd = async (): Promise<ServerUser> => {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  return user ? { uid: Number(user[2]), gid: Number(user[3]) } : { uid: 65534, gid: 65534 }
}

/**
 * The user that the server runs as, because PostgreSQL refuses root: undefined for a plain user (itself); for root the
 * owner of the cluster or of the data folder, or else the system's `postgres` or `nobody`.
 */
export const serverUser = async (folder: string): Promise<ServerUser | undefined> => {
  if (!isRoot()) return undefined
  const { uid, gid } = await stat(join(folder, 'pgdata')).catch(() => stat(folder))
  return uid === 0 ? fromPasswd() : { uid, gid }
}

/** Whether the permission bits of the path and of every folder above let the user through; the path is a real one. */
export const reaches = async (user: ServerUser, path: string): Promise<boolean> => {
  const { uid, gid, mode } = await stat(path)
  const execute = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
  if (!(mode & execute)) return false
  return path === '/' || reaches(user, dirname(path))
}

/** What the server's processes see of the environment: none of our secrets, none of somebody's PG variables. */
export const spawnOptions = (user: ServerUser | undefined) => ({
  cwd: '/',
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
  ...user,
})

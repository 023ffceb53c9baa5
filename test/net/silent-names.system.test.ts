import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const child = join(import.meta.dirname, 'silent-names.child.ts')
const run = promisify(execFile)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-names-'))
  await writeFile(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n')
  await writeFile(join(folder, 'hosts'), '127.0.0.1 localhost listed.test\n')
})
afterAll(() => rm(folder, { recursive: true }))

/** Runs a command in its own network and mount namespaces, where the test sets the system settings and can use port 53. */
const withSystemSettings = [
  ...['unshare', '--user', '--map-root-user', '--net', '--mount', 'sh', '-ec'],
  `ip link set lo up
   mount --bind "$0/resolv.conf" /etc/resolv.conf
   mount --bind "$0/hosts" /etc/hosts
   exec "$@"`,
]

const drill = async (servers: 'set' | 'unset', silent: number) => {
  const command = [...(servers === 'unset' ? [...withSystemSettings, folder] : []), process.execPath, child]
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env
  const { stdout } = await run(command[0]!, [...command.slice(1), servers, String(silent)], { env })
  return JSON.parse(stdout) as {
    hanging: number
    asked: number
    isHostsFileRead: boolean
  }
}

test.each([
  ['set', 4],
  ['set', 200],
  ['unset', 4],
  ['unset', 200],
] as const)(
  'with SVC_DNS_SERVERS %s, %i names with a silent server do not delay other names',
  async (servers, silent) => {
    const { hanging, asked, isHostsFileRead } = await drill(servers, silent)
    // The other names were found while every silent one still hung.
    expect(hanging).toBe(silent)
    expect(asked).toBe(Math.min(silent, 4 * 16)) // an account asks for 16 at once
    expect(isHostsFileRead).toBe(servers === 'unset')
  },
)

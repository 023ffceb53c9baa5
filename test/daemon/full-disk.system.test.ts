import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, statfsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount, createKey } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { stopEmbedded } from '../../src/embedded/embedded.ts'
import { callDaemon, startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/eventually.ts'
import { migratedDataFolder } from '../support/folder.ts'
import { needsRoot } from '../support/needs.ts'

/** Large enough for a new database, small enough to be filled in a second. */
const diskMb = 400

describe('a full disk', needsRoot, () => {
  let disk: string
  let target: { env: Record<string, string> }

  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), 'svc-disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', disk])
    chmodSync(disk, 0o755)
    const data = join(disk, 'data')
    execFileSync('cp', ['-a', await migratedDataFolder(), data])
    target = { env: { SVC_DATA_DIR: data, SVC_RATE_LIMIT: '0' } }
  })
  afterAll(async () => {
    // A failed test has its daemon killed, which leaves the server: nothing would find it after its folder is unmounted.
    await stopEmbedded(target.env.SVC_DATA_DIR!)
    execFileSync('umount', ['-l', disk])
    await rm(disk, { recursive: true })
  })

  test('writes and /readyz are 503 with Retry-After until there is space again, and nothing is lost', async () => {
    const daemon = await startDaemon(target)
    const app = await openApp(readConfig({ ...target.env, SVC_LOG_LEVEL: 'silent' }))
    const { id } = await app.operate('cli:test', (operation) =>
      createAccount(operation, { name: 'Acme', plan: 'unlimited' }),
    )
    const { key, list } = await app.work(id, 'cli:test', async (work) => ({
      key: (await createKey(work, { name: 'x' })).key,
      list: await createList(work, { name: 'L' }),
    }))
    await app.close()
    const write = async (n: number) => {
      // The server compresses repeated text.
      const text = randomBytes(4_500).toString('hex')
      const contacts = Array.from({ length: 50 }, (_, i) => ({
        email: `u${n}-${i}@example.org`,
        text: `${n} ${i} ${text}`,
      }))
      return callDaemon(daemon, 'POST', '/contacts', { key, body: { listId: list.id, contacts } })
    }
    expect((await write(0)).status).toBe(200)
    const { bavail, bsize } = statfsSync(disk)
    const ballast = join(disk, 'ballast')
    await writeFile(ballast, Buffer.alloc(Math.floor((bavail * bsize) / 1e6 - 4) * 1e6))
    const written = [0]
    await eventually(async () => {
      const n = written.length
      const { status } = await write(n)
      if (status === 200) written.push(n)
      return status === 503
    })
    const refused = await fetch(`${daemon.url}/readyz`)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])

    await rm(ballast)
    await eventually(async () => (await fetch(`${daemon.url}/readyz`)).ok)
    await eventually(async () => (await write(1_000)).status === 200)
    const { body } = await callDaemon(daemon, 'GET', '/lists', { key })
    expect(body.lists[0]!.rowCount).toBe(50 * (written.length + 1))
    expect(await daemon.stop()).toBe(0)
    expect(await stopEmbedded(target.env.SVC_DATA_DIR!)).toBe('not running')
  })
})

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from './support/needs.ts'

/* Checks docs/deploy/svc.service with systemd's own tools; its program is replaced by one that this machine has. */

const run = promisify(execFile)
/** The highest exposure level that is accepted, from 0 (closed) to 10. systemd 252 to 257 rate the unit lower. */
const mostExposed = 2.5

let folder: string
let unit: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-systemd-'))
  unit = join(folder, 'svc.service')
  const written = await readFile(join(import.meta.dirname, '../docs/deploy/svc.service'), 'utf8')
  await writeFile(unit, written.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a daemon is restarted until its database is there: systemd gives up after 5 starts in 10 s', async () => {
  const [, pause] = /^RestartSec=(\d+)$/m.exec(await readFile(unit, 'utf8'))!
  expect(Number(pause)).toBeGreaterThan(10 / 5)
})

describe('the unit', needs('systemd-analyze'), () => {
  test('verify finds nothing, not even a warning', async () => {
    expect(await run('systemd-analyze', ['verify', '--man=no', unit])).toEqual({ stdout: '', stderr: '' })
  })

  test('verify detects a setting that does not exist', async () => {
    const broken = join(folder, 'broken.service')
    await writeFile(broken, (await readFile(unit, 'utf8')).replace('KillMode=mixed', 'KillMode=both'))
    const { stderr } = await run('systemd-analyze', ['verify', '--man=no', broken])
    expect(stderr).toContain('kill mode')
  })

  test('security rates it as well protected', async () => {
    const threshold = String(mostExposed * 10)
    const { stdout } = await run('systemd-analyze', ['security', '--offline=yes', `--threshold=${threshold}`, unit])
    expect(Number(/exposure level for svc\.service: ([\d.]+)/.exec(stdout)![1])).toBeLessThanOrEqual(mostExposed)
  })
})

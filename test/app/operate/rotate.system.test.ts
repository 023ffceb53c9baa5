import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { rotateSecret } from '../../../src/app/operate/rotate.ts'
import { findDraft, nextSecret, writeDraft } from '../../../src/app/secret.ts'
import { openEmbedded } from '../../../src/embedded/embedded.ts'
import { svc } from '../../support/cli.ts'
import { eventually } from '../../support/eventually.ts'
import { migratedDataFolder } from '../../support/folder.ts'

const [first, second, third] = ['the first secret', 'the second secret', 'the third secret'].map(
  (secret) => `${secret} of the house`,
) as [string, string, string]

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-rotate-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const fileOf = async (secret: string) => {
  const file = join(folder, 'new-secret')
  await writeFile(file, `${secret}\n`)
  return file
}

test('the secret in a data folder is replaced; the same command recovers from a crash before the folder has it', async () => {
  const data = await migratedDataFolder()
  const target = { env: { SVC_DATA_DIR: data, SVC_LOG_LEVEL: 'silent' } }
  // Keeps the server running; otherwise each command would start it again.
  const embedded = await openEmbedded(data)
  expect((await svc(target, ['accounts', 'create', '--name', 'One'])).status).toBe(0)
  const old = await readFile(join(data, 'secret'), 'utf8')
  const ran = await svc(target, ['secret', 'rotate', '--yes', '--json'])
  expect(ran.status, ran.stderr).toBe(0)
  const next = await readFile(join(data, 'secret'), 'utf8')
  expect(next).not.toBe(old)
  expect((await stat(join(data, 'secret'))).mode & 0o777).toBe(0o600)
  expect((await readdir(data)).filter((name) => name.startsWith('secret'))).toEqual(['secret'])
  expect((await svc(target, ['accounts', 'list'])).status).toBe(0)
  const names = async () => (await readdir(data)).filter((name) => name.startsWith('secret'))
  // The state after a crash: the database has the new secret, the folder has the old one and the draft.
  const crash = async () => {
    const config = readConfig(target.env)
    const opened = await openApp(config, { name: 'svc cli' })
    const to = nextSecret(data, null)
    writeDraft(data, to)
    const rotation = { from: config.secret, to, endLinks: false, dryRun: false }
    // The server may end the session of the command before after the command: until then it is another process.
    await eventually(() =>
      rotateSecret(opened.database, rotation).then(
        () => true,
        (error) => {
          expect(error).toMatchObject({ kind: 'conflict' })
          return false
        },
      ),
    )
    await opened.close()
    expect((await svc(target, ['accounts', 'list'])).status).toBe(4)
    return to
  }
  await crash()
  expect((await svc(target, ['secret', 'rotate', '--yes', '--json'])).status).toBe(0)
  expect((await svc(target, ['accounts', 'list'])).status).toBe(0)

  // The draft is the only copy of the database's secret: a dry run and a refusal with another secret must keep it.
  const live = await crash()
  const kept = await readFile(join(data, 'secret'), 'utf8')
  const other = ['secret', 'rotate', '--secret-file', await fileOf(third)]
  for (const [flags, status] of [[['--dry-run'], 0] as const, [[], 2] as const]) {
    const ran = await svc(target, [...other, ...flags, '--json'])
    expect(ran.status, ran.stderr).toBe(status)
    expect(findDraft(data)).toBe(live)
    expect(await readFile(join(data, 'secret'), 'utf8')).toBe(kept)
  }
  // With --yes the interrupted rotation is finished before the next one.
  expect((await svc(target, [...other, '--yes', '--json'])).status).toBe(0)
  expect(await readFile(join(data, 'secret'), 'utf8')).toBe(third)
  expect(await names()).toEqual(['secret'])
  expect((await svc(target, ['accounts', 'list'])).status).toBe(0)

  // A crash before the database has changed: the draft is not used yet. A dry run writes none.
  expect((await svc(target, ['secret', 'rotate', '--dry-run'])).status).toBe(0)
  expect(await names()).toEqual(['secret'])
  writeDraft(data, second)
  expect((await svc(target, ['secret', 'rotate', '--secret-file', await fileOf(first), '--yes'])).status).toBe(0)
  expect(await readFile(join(data, 'secret'), 'utf8')).toBe(first)
  expect(await names()).toEqual(['secret'])
  expect((await svc(target, ['accounts', 'list'])).status).toBe(0)
  await embedded.close()
})

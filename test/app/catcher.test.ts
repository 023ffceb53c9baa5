import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCatcher } from '../../src/app/catcher/catcher.ts'
import { catcherFile, readConfig } from '../../src/app/config.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-catcher-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const places = () => {
  const { smtpUrl, allowPrivateWebhooks } = readConfig({
    SVC_DATA_DIR: folder,
    SVC_SECRET: 'a secret that only tests use',
  })
  return { smtpUrl, opens: allowPrivateWebhooks.length > 0 }
}

test('while svc dev runs, email goes to its catcher and webhooks may reach this machine; after its end they do not', async () => {
  const catcher = await openCatcher(0, folder, () => new Date())
  expect(places()).toEqual({ smtpUrl: catcher.url, opens: true })
  await catcher.close()
  expect(places()).toEqual({ smtpUrl: null, opens: false })
})

test('the file left by the catcher of a killed process catches no email and opens no page', async () => {
  // No process has this id: it is above the limit of Linux.
  const pid = 2 ** 22 + 1
  await writeFile(catcherFile(folder), `smtp://127.0.0.1:4802\n${pid}\n`)
  expect(places()).toEqual({ smtpUrl: null, opens: false })
})

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { catcherFile, mailFolder, readConfig } from '../../src/app/config.ts'
import { newId } from '../../src/lib/ids.ts'
import { caughtIds, openCatcher, readCaught, removeCaught } from '../../src/tools/catcher/catcher.ts'
import { svc } from '../support/cli.ts'

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

test('an email after a reset of the clock is the newest: the catcher keeps the newest, and lists show them first', async () => {
  const times = [Date.now() + 86_400_000, Date.now()]
  const catcher = await openCatcher(0, folder, () => new Date(times.shift()!))
  for (const subject of ['ahead', 'reset'])
    await createTransport(catcher.url).sendMail({ from: 'a@x.example', to: 'b@x.example', subject, text: 'Hello' })
  const subjects = caughtIds(folder).map((id) => /Subject: (\w+)/.exec(readCaught(folder, id)!.raw)![1])
  expect(subjects).toEqual(['ahead', 'reset'])
  removeCaught(folder, caughtIds(folder))
  await catcher.close()
})

test('mail show takes the end of an id, and offers the caught emails on a terminal', async () => {
  await mkdir(mailFolder(folder), { recursive: true })
  const ids = ['Welcome', 'Invoice'].map((subject, at) => ({ subject, id: newId('msg', at) }))
  for (const { subject, id } of ids) {
    const raw = `From: a@x.example\r\nTo: ada@x.example\r\nSubject: ${subject}\r\n\r\nHello`
    const mail = { id, from: 'a@x.example', to: ['ada@x.example'], at: 0, raw }
    await writeFile(join(mailFolder(folder), `${id}.json`), JSON.stringify(mail))
  }
  const target = { env: { SVC_DATA_DIR: folder } }
  const [welcome] = ids
  const shown = await svc(target, ['mail', 'show', welcome!.id.slice(-6), '--json'])
  expect([shown.status, shown.json]).toEqual([0, expect.objectContaining(welcome)])
  const steps = [[/Caught email:.*❯ Invoice \(ada@x\.example\)/s, '\u001b[B\r']] as const
  const asked = await svc(target, ['mail', 'show'], { tty: {}, steps })
  expect([asked.status, asked.text]).toEqual([0, expect.stringMatching(/subject +Welcome/)])
})

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startSvc, svc } from '../support/cli.ts'
import { freePort, startDaemon } from '../support/daemon.ts'

let folder: string
let port: number
let target: { env: Record<string, string> }
const running = new Set<{ end(signal: NodeJS.Signals): Promise<number | null> }>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-dev-'))
})
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
beforeEach(async () => {
  port = await freePort()
  target = { env: { SVC_DATA_DIR: folder, SVC_PORT: String(port) } }
})
afterEach(async () => {
  await Promise.all([...running].map((dev) => dev.end('SIGTERM')))
  running.clear()
})

/** A real `svc dev`, ready when this resolves, on the data folder that all these tests share. */
const startDev = async (env: Record<string, string> = {}) => {
  const child = startSvc(target, ['dev'], { env })
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const exited = once(child, 'close').then(([status]) => status as number | null)
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
      if (/^Ctrl-C/m.test(stdout)) resolve()
    })
    exited.then(() => reject(new Error(`svc dev ended: ${stderr}`)))
  })
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  running.add({ end })
  await ready
  return {
    end,
    stdout,
    stderr: () => stderr,
    api: /API\s+(\S+)/.exec(stdout)![1]!,
    console: /Console\s+(\S+)/.exec(stdout)![1]!,
    receiver: /Webhooks\s+(\S+)/.exec(stdout)![1]!,
    key: /Demo key\s+(\S+)/.exec(stdout)![1]!,
  }
}

const deliveriesAt = async (url: string, count: number) => {
  const deadline = Date.now() + 15_000
  for (;;) {
    const shown = (await (await fetch(`${url}/deliveries`)).json()) as {
      total: number
      notVerified: number
      deliveries: { type: string; verified: boolean; body: string }[]
    }
    if (shown.total >= count) return shown
    if (Date.now() > deadline) throw new Error(`${shown.total} of ${count} deliveries came`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const listsWith = (api: string, key: string) => fetch(`${api}/lists`, { headers: { authorization: `Bearer ${key}` } })
const webhookIds = async () => {
  const { json } = await svc(target, ['webhooks', 'list', '--json', '--account', 'demo'])
  return json.webhooks.map(({ id }: { id: string }) => id)
}

test('the first start brings everything up, says where it is, and has deliveries to show', {
  timeout: 60_000,
}, async () => {
  const dev = await startDev()
  expect(dev.api).toBe(`http://127.0.0.1:${port}/api/v1`)
  expect(dev.receiver).toBe(`http://127.0.0.1:${port + 1}`)
  expect(dev.stdout).toContain(`http://127.0.0.1:${port}/openapi.json`)
  expect(dev.stdout).not.toContain('\u001b')
  expect((await fetch(`http://127.0.0.1:${port}/openapi.json`)).status).toBe(200)

  const lists = await listsWith(dev.api, dev.key)
  expect(await lists.json()).toMatchObject({ lists: [{ name: 'Sample contacts', rowCount: 5 }] })
  const shown = await deliveriesAt(dev.receiver, 5)
  expect(shown).toMatchObject({ total: 5, notVerified: 0 })
  expect(shown.deliveries.map(({ type }) => type)).toEqual(Array(5).fill('contact.created'))

  expect((await stat(join(folder, 'demo.json'))).mode & 0o777).toBe(0o600)
  expect(await dev.end('SIGTERM')).toBe(0)
  // Requests are shown as they come, in words, and nothing else.
  const line = /^\d\d:\d\d:\d\d {2}GET {4}200 {2}\/(openapi\.json|api\/v1\/lists) {2}[\d.]+ ms( {2}key_\w+)?$/
  const shownRequests = dev.stderr().trim().split('\n')
  expect(shownRequests).toEqual([expect.stringMatching(line), expect.stringMatching(line)])
  expect(existsSync(join(folder, 'pgdata/postmaster.pid'))).toBe(false)
})

test('the commands that it prints work in another terminal', { timeout: 60_000 }, async () => {
  const dev = await startDev()
  const [curl, imported, sent] = dev.stdout.split('\n').filter((line) => /^ {2}(curl|printf|.*npx svc)/.test(line))
  const body = /-d '([^']+)'/.exec(curl!)![1]!
  const headers = { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' }
  const answer = await fetch(/curl (\S+)/.exec(curl!)![1]!, { method: 'POST', headers, body })
  expect(answer.status).toBeLessThan(300)
  expect(imported).toContain(`SVC_DATA_DIR=${folder} npx svc contacts import - --create-list --list Customers`)
  const rows = /printf '([^']+)'/.exec(imported!)![1]!.replaceAll('\\n', '\n')
  const flags = ['--create-list', '--list', 'Customers', '--map', 'E-mail=email,First=first_name']
  expect(await svc(target, ['contacts', 'import', '-', ...flags], { stdin: rows })).toMatchObject({ status: 0 })
  await deliveriesAt(dev.receiver, 2)
  const deliveries = await svc(target, ['deliveries', 'list', '--json'])
  expect(deliveries.json.deliveries.length).toBeGreaterThanOrEqual(7)
  const [, flagsOfSend] = /npx svc (send .+)$/.exec(sent!)!
  expect(await svc(target, flagsOfSend!.split(' '))).toMatchObject({ status: 0 })
  const mail = (await svc(target, ['mail', 'wait', '--to', 'you@example.com', '--json'])).json
  expect(mail).toMatchObject({ subject: 'Welcome', html: expect.stringContaining('Welcome aboard, Ada') })
  // Its picture is there for whoever looks at the mail, and the console shows all three.
  const [picture] = new RegExp(`http://127.0.0.1:${port}/sample/[^"]+`).exec(mail.html)!
  const shown = await fetch(picture)
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(Buffer.from(await shown.arrayBuffer()).toString('latin1', 1, 4)).toBe('PNG')
  const console = await (await fetch(dev.console)).text()
  expect(console).toMatch(/1 caught[\s\S]*contact\.created[\s\S]*POST<[\s\S]*\/api\/v1\/contacts</)
  expect(console).not.toContain(dev.key)
})

test('a second start keeps the account, the key and the subscription, also at another port', {
  timeout: 60_000,
}, async () => {
  const first = await startDev()
  const before = await webhookIds()
  expect(before).toHaveLength(1)
  expect(await first.end('SIGINT')).toBe(0)
  target.env.SVC_PORT = String(await freePort())
  const second = await startDev()
  expect(second.receiver).not.toBe(first.receiver)
  expect(second.key).toBe(first.key)
  expect(await webhookIds()).toEqual(before)
  const accounts = await svc(target, ['accounts', 'list', '--json'])
  expect(accounts.json.accounts).toMatchObject([{ name: 'demo', plan: 'unlimited' }])
  expect((await svc(target, ['lists', 'list', '--json'])).json.lists.length).toBe(2)
  // The sample project is as it was made, but for where its picture is now.
  const { projects } = (await svc(target, ['projects', 'list', '--json'])).json
  expect(projects).toMatchObject([{ name: 'Welcome' }])
  const project = (await svc(target, ['projects', 'show', 'Welcome', '--json'])).json
  expect(JSON.stringify(project)).toContain(`http://127.0.0.1:${target.env.SVC_PORT}/sample/harbour.png`)
  expect((await svc(target, ['projects', 'delete', 'Welcome', '--yes'])).status).toBe(0)
  await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', 'new@sample.example'])
  expect(await deliveriesAt(second.receiver, 1)).toMatchObject({ total: 1, notVerified: 0 })
})

test('what changed while it was stopped is delivered at its next start', { timeout: 60_000 }, async () => {
  const upserted = await svc(target, [
    'contacts',
    'upsert',
    '--list',
    'Sample contacts',
    '--email',
    'later@sample.example',
  ])
  expect(upserted.status).toBe(0)
  const dev = await startDev()
  expect((await svc(target, ['projects', 'list', '--json'])).json).toEqual({ projects: [] })
  const { deliveries, notVerified } = await deliveriesAt(dev.receiver, 1)
  expect(deliveries[0]!.body).toContain('later@sample.example')
  expect(notVerified).toBe(0)
})

test('a revoked key and a deleted subscription are made anew, and another account stays out of it', {
  timeout: 60_000,
}, async () => {
  const first = await startDev()
  const { keyId, webhookId } = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'))
  expect((await svc(target, ['keys', 'revoke', keyId, '--yes'])).status).toBe(0)
  expect((await svc(target, ['webhooks', 'delete', webhookId, '--yes'])).status).toBe(0)
  expect((await svc(target, ['accounts', 'create', '--name', 'other', '--plan', 'free'])).status).toBe(0)
  await first.end('SIGTERM')
  const second = await startDev()
  expect(second.key).not.toBe(first.key)
  expect((await listsWith(second.api, second.key)).status).toBe(200)
  expect(await webhookIds()).toHaveLength(1)
  expect((await svc(target, ['webhooks', 'list', '--json', '--account', 'other'])).json.webhooks).toEqual([])
  await svc(target, ['accounts', 'delete', 'other', '--confirm', 'other'])
})

test('a database that was reset gets a new demo', { timeout: 60_000 }, async () => {
  const { key } = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'))
  expect((await svc(target, ['db', 'reset', '--yes'])).status).toBe(0)
  const dev = await startDev()
  expect(dev.key).not.toBe(key)
  expect((await listsWith(dev.api, dev.key)).status).toBe(200)
  expect(await deliveriesAt(dev.receiver, 5)).toMatchObject({ notVerified: 0 })
})

test('a second one on the same folder and port says in one line what to do, and harms nothing', {
  timeout: 60_000,
}, async () => {
  const dev = await startDev()
  const kept = await readFile(join(folder, 'demo.json'), 'utf8')
  const second = await svc(target, ['dev'])
  expect(second).toMatchObject({ status: 4, stdout: '' })
  expect(second.stderr).toBe(`error: Port ${port} is taken\n  next: set SVC_PORT to a free one\n`)
  expect((await listsWith(dev.api, dev.key)).status).toBe(200)
  await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', 'still@sample.example'])
  expect(await deliveriesAt(dev.receiver, 1)).toMatchObject({ notVerified: 0 })
  expect(await readFile(join(folder, 'demo.json'), 'utf8')).toBe(kept)
})

test('where the port of the receiver is taken it uses another one', { timeout: 60_000 }, async () => {
  const other = createServer().listen(port + 1, '127.0.0.1')
  await once(other, 'listening')
  const dev = await startDev()
  expect(dev.receiver).not.toBe(`http://127.0.0.1:${port + 1}`)
  expect((await fetch(dev.receiver)).status).toBe(200)
  other.close()
})

test('a folder that can not be one is said in one line', async () => {
  const file = join(folder, 'a-file')
  await writeFile(file, '')
  const ran = await svc(target, ['dev'], { env: { SVC_DATA_DIR: file } })
  expect(ran).toMatchObject({ status: 4, stdout: '' })
  expect(ran.stderr).toMatch(/^error: The data folder .* can't be written.*\n/)
})

test('svc serve on the folder that it once used opens no way to this machine, nor does the CLI beside it', {
  timeout: 60_000,
}, async () => {
  const dev = await startDev()
  expect(await dev.end('SIGTERM')).toBe(0)
  const daemon = await startDaemon(target, { env: { SVC_PORT: target.env.SVC_PORT! } })
  running.add({ end: daemon.kill })
  await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', 'served@sample.example'])
  const newest = async () => (await svc(target, ['deliveries', 'list', '--json'])).json.deliveries[0]
  const refused = { lastStatus: null, lastError: expect.stringContaining('not public') }
  await expect.poll(newest, { timeout: 10_000, interval: 200 }).toMatchObject(refused)
  const url = ['--url', 'http://127.0.0.1:9/hook', '--events', 'contact.created']
  expect((await svc(target, ['webhooks', 'create', ...url])).status).toBe(2)
})

test('svc listen finds the daemon of svc dev without any setting', { timeout: 60_000 }, async () => {
  await startDev()
  const listener = startSvc(target, ['listen'])
  const [said] = await once(listener.stderr.setEncoding('utf8'), 'data')
  expect(said).toMatch(/^Ready: deliveries of demo arrive here/)
  listener.kill('SIGINT')
  expect(await once(listener, 'close')).toEqual([0, null])
})

test('mail that hangs holds up no stop: it is caught as svc dev ends', { timeout: 60_000 }, async () => {
  const dev = await startDev()
  expect((await svc(target, ['mail', 'mode', 'hang'])).status).toBe(0)
  const send = fetch(`${dev.api}/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: 'late@example.com', subject: 'Late', html: '<p>Hi</p>', text: 'Hi' }),
  })
  const held = async () => (await (await fetch(dev.console)).text()).includes('1 held now')
  await expect.poll(held, { timeout: 8000 }).toBe(true)
  const began = performance.now()
  expect(await dev.end('SIGTERM')).toBe(0)
  expect(performance.now() - began).toBeLessThan(8000)
  expect(await (await send).json()).toMatchObject({ status: 'sent' })
  expect((await svc(target, ['mail', 'list', '--to', 'late@example.com', '--json'])).json.mail).toHaveLength(1)
  expect((await svc(target, ['mail', 'clear', '--yes'])).status).toBe(0)
})

test('mail is caught: a first mail by the API and one by the CLI are in svc mail, with their parts; nothing leaves', async () => {
  const dev = await startDev()
  const answer = await fetch(`${dev.api}/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: 'you@example.com', subject: 'Grüße', html: '<p>Hi</p>', text: 'Hi' }),
  })
  expect(await answer.json()).toMatchObject({ status: 'sent' })
  const caught = await svc(target, ['mail', 'wait', '--to', 'you@example.com', '--json'])
  expect(caught.json).toMatchObject({ subject: 'Grüße', to: 'you@example.com', from: 'hello@sample.example' })
  expect([caught.json.html.trim(), caught.json.text.trim()]).toEqual(['<p>Hi</p>', 'Hi'])
  await writeFile(join(folder, 'part'), 'Hello')
  const part = join(folder, 'part')
  const sent = await svc(target, [
    'send',
    '--to',
    'me@example.com',
    '--subject',
    'Two',
    '--html',
    part,
    '--text',
    part,
    '--json',
  ])
  expect(sent.json).toMatchObject({ status: 'sent' })
  const { mail } = (await svc(target, ['mail', '--json'])).json
  expect(mail.map(({ subject }: { subject: string }) => subject)).toEqual(['Two', 'Grüße'])
  const shown = (await svc(target, ['mail', 'show', mail[0].id, '--json'])).json
  expect(shown.headers['message-id']).toBe(`<${sent.json.id}@sample.example>`)
  expect((await svc(target, ['mail', 'show', 'msg_nothing'])).status).toBe(3)
  expect((await svc(target, ['mail', 'wait', '--subject', 'Three', '--timeout', '1s'])).status).toBe(1)
  expect((await svc(target, ['mail', 'clear'])).status).toBe(2)
  expect((await svc(target, ['mail', 'clear', '--yes', '--json'])).json).toEqual({ ok: true, removed: 2 })
  expect((await svc(target, ['mail', 'list', '--json'])).json).toEqual({ mail: [] })
})

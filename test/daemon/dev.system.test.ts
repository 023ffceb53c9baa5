import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { startSvc, svc, svcProcess } from '../support/cli.ts'
import { freePort, startDaemon } from '../support/daemon.ts'
import { copiedDataFolder, newDataFolder } from '../support/folder.ts'

let folder: string
let port: number
let target: { env: Record<string, string> }

const use = async (dataFolder: string) => {
  folder = dataFolder
  port = await freePort()
  target = { env: { SVC_DATA_DIR: folder, SVC_PORT: String(port) } }
}
/** Each test has a copy of the folder that a first start has left. */
beforeEach(async () => {
  const made = await copiedDataFolder('dev', async (source) => {
    await use(source)
    const dev = await startDev()
    await deliveriesAt(dev.receiver, 5)
    expect(await dev.end('SIGTERM')).toBe(0)
  })
  await use(made)
})

/** Starts a real `svc dev` on the data folder; resolves once it is ready. */
const startDev = async (env: Record<string, string> = {}, flags: string[] = []) => {
  const child = startSvc(target, ['dev', ...flags], { env })
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
    void exited.then(() => reject(new Error(`svc dev ended: ${stderr}`)))
  })
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
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

test('the first start brings everything up, prints the addresses, and has deliveries to show', async () => {
  await use(await newDataFolder())
  const dev = await startDev()
  expect(dev.api).toBe(`http://127.0.0.1:${port}/api/v1`)
  expect(dev.receiver).toBe(`http://127.0.0.1:${port + 1}`)
  expect(dev.stdout).toContain(`http://127.0.0.1:${port}/openapi.json`)
  expect(dev.stdout).not.toContain('\u001b')
  expect((await fetch(`http://127.0.0.1:${port}/openapi.json`)).status).toBe(200)
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain(`<a href="${dev.console}">Console</a>`)

  const lists = await listsWith(dev.api, dev.key)
  expect(await lists.json()).toMatchObject({ lists: [{ name: 'Sample contacts', rowCount: 5 }] })
  const shown = await deliveriesAt(dev.receiver, 5)
  expect(shown).toMatchObject({ total: 5, notVerified: 0 })
  expect(shown.deliveries.map(({ type }) => type)).toEqual(Array(5).fill('contact.created'))

  expect((await stat(join(folder, 'demo.json'))).mode & 0o777).toBe(0o600)
  expect(await dev.end('SIGTERM')).toBe(0)
  // Standard error shows each request as a readable line, and nothing else.
  const line = /^\d\d:\d\d:\d\d {2}GET {4}200 {2}\/(openapi\.json|api\/v1\/lists)? {2}[\d.]+ ms( {2}key_\w+)?$/
  const shownRequests = dev.stderr().trim().split('\n')
  expect(shownRequests).toEqual([1, 2, 3].map(() => expect.stringMatching(line)))
  expect(existsSync(join(folder, 'pgdata/postmaster.pid'))).toBe(false)
})

test('the commands that it prints work in another terminal', async () => {
  const dev = await startDev()
  const [curl, imported, sent] = dev.stdout.split('\n').filter((line) => /^ {2}(curl|printf|.*svc send)/.test(line))
  const body = /-d '([^']+)'/.exec(curl!)![1]!
  const headers = { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' }
  const answer = await fetch(/curl (\S+)/.exec(curl!)![1]!, { method: 'POST', headers, body })
  expect(answer.status).toBeLessThan(300)
  expect(imported).toContain(`SVC_DATA_DIR=${folder} svc contacts import - --create-list --list Customers`)
  const rows = /printf '([^']+)'/.exec(imported!)![1]!.replaceAll('\\n', '\n')
  const flags = ['--create-list', '--list', 'Customers', '--map', 'E-mail=email,First=first_name']
  expect(await svc(target, ['contacts', 'import', '-', ...flags], { stdin: rows })).toMatchObject({ status: 0 })
  await deliveriesAt(dev.receiver, 2)
  const deliveries = await svc(target, ['deliveries', 'list', '--json'])
  expect(deliveries.json.deliveries.length).toBeGreaterThanOrEqual(7)
  const [, flagsOfSend] = /svc (send .+)$/.exec(sent!)!
  expect(await svc(target, flagsOfSend!.split(' '))).toMatchObject({ status: 0 })
  const mail = (await svc(target, ['mail', 'wait', '--to', 'you@example.com', '--json'])).json
  expect(mail).toMatchObject({ subject: 'Welcome', html: expect.stringContaining('Welcome aboard Ada') })
  // The email's picture can be loaded, and the console shows the email, the event and the request.
  const [picture] = new RegExp(`http://127.0.0.1:${port}/sample/[^"]+`).exec(mail.html)!
  const shown = await fetch(picture)
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(Buffer.from(await shown.arrayBuffer()).toString('latin1', 1, 4)).toBe('PNG')
  const console = await (await fetch(dev.console)).text()
  expect(console).toMatch(/1 caught[\s\S]*contact\.created[\s\S]*POST<[\s\S]*\/api\/v1\/contacts</)
  expect(console).not.toContain(dev.key)
})

test('--data-dir takes precedence over SVC_DATA_DIR, and the printed commands name its folder', async () => {
  const named = await newDataFolder()
  const dev = await startDev({}, ['--data-dir', named])
  expect(dev.stdout).toContain(`embedded, in ${named}`)
  expect(dev.stdout).toContain(`SVC_DATA_DIR=${named} svc send`)
  expect(await dev.end('SIGTERM')).toBe(0)
  expect(existsSync(join(named, 'demo.json'))).toBe(true)
})

test('a second start keeps the account, the key and the subscription, even on another port', async () => {
  const first = await startDev()
  const before = await webhookIds()
  expect(before).toHaveLength(1)
  expect(await first.end('SIGINT')).toBe(130)
  target.env.SVC_PORT = String(await freePort())
  const second = await startDev()
  expect(second.receiver).not.toBe(first.receiver)
  expect(second.key).toBe(first.key)
  expect(await webhookIds()).toEqual(before)
  const accounts = await svc(target, ['accounts', 'list', '--json'])
  expect(accounts.json.accounts).toMatchObject([{ name: 'demo', plan: 'unlimited' }])
  expect((await svc(target, ['lists', 'list', '--json'])).json.lists.length).toBe(1)
  // The sample project is unchanged, except for the URL of its picture.
  const { projects } = (await svc(target, ['projects', 'list', '--json'])).json
  expect(projects).toMatchObject([{ name: 'Welcome' }])
  const project = (await svc(target, ['projects', 'show', 'Welcome', '--json'])).json
  expect(JSON.stringify(project)).toContain(`http://127.0.0.1:${target.env.SVC_PORT}/sample/harbour.png`)
  await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', 'new@sample.example'])
  expect(await deliveriesAt(second.receiver, 1)).toMatchObject({ total: 1, notVerified: 0 })
})

test('changes that are made while it is stopped are delivered at its next start, and what was deleted stays so', async () => {
  expect((await svc(target, ['projects', 'delete', 'Welcome', '--yes'])).status).toBe(0)
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

test('a revoked key and a deleted subscription are created again, and another account is unchanged', async () => {
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
})

test('a database that was reset gets a new demo', async () => {
  const { key } = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'))
  expect((await svc(target, ['db', 'reset', '--yes'])).status).toBe(0)
  const dev = await startDev()
  expect(dev.key).not.toBe(key)
  expect((await listsWith(dev.api, dev.key)).status).toBe(200)
  expect(await deliveriesAt(dev.receiver, 5)).toMatchObject({ notVerified: 0 })
})

test.each([
  ['its port', async () => port],
  ['another port', freePort],
])(
  'a second svc dev on the same folder, on %s, is refused with the address of the first, which is not affected',
  async (_, portOfSecond) => {
    const dev = await startDev()
    const read = () => Promise.all(['demo.json', 'catcher'].map((name) => readFile(join(folder, name), 'utf8')))
    const kept = await read()
    const second = await svcProcess(target, ['dev'], { env: { SVC_PORT: String(await portOfSecond()) } })
    expect(second).toMatchObject({ status: 6, stdout: '' })
    expect(second.stderr).toBe(
      `error: svc dev already runs on ${folder}, at http://127.0.0.1:${port}\n  next: use that one, or stop it with Ctrl-C; for a second one set SVC_DATA_DIR (or --data-dir) to another folder and SVC_PORT to a free port\n`,
    )
    expect((await listsWith(dev.api, dev.key)).status).toBe(200)
    await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', 'still@sample.example'])
    await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', `at${port}@sample.example`])
    expect(await deliveriesAt(dev.receiver, 1)).toMatchObject({ notVerified: 0 })
    const part = join(folder, 'demo.json')
    const mail = ['--to', `second${port}@example.com`, '--subject', 'Still', '--html', `@${part}`, '--text', `@${part}`]
    expect((await svc(target, ['send', ...mail, '--json'])).json).toMatchObject({ status: 'sent' })
    expect((await svc(target, ['mail', 'list', '--to', `second${port}@example.com`, '--json'])).json.mail).toHaveLength(
      1,
    )
    expect(await read()).toEqual(kept)
  },
)

test('a second svc dev is refused while the first is still starting, and a killed one does not block the next', async () => {
  const dev = await startDev()
  await dev.end('SIGKILL')
  const again = startDev()
  const file = () => readFile(join(folder, 'dev'), 'utf8')
  await expect.poll(file, { interval: 5 }).toBe('')
  const second = await svcProcess(target, ['dev'])
  expect(second).toMatchObject({ status: 6, stdout: '' })
  expect(second.stderr).toMatch(/^error: svc dev already runs on \S+(, at http:\S+| and is still starting)\n/)
  expect((await listsWith((await again).api, (await again).key)).status).toBe(200)
})

test('a failed start does not block the next one', async () => {
  const other = createServer().listen(port, '127.0.0.1')
  await once(other, 'listening')
  const refused = await svc(target, ['dev'])
  expect(refused).toMatchObject({ status: 4, stdout: '' })
  expect(refused.stderr).toBe(`error: Port ${port} is taken\n  next: set SVC_PORT to a free one\n`)
  other.close()
  await once(other, 'close')
  expect((await fetch((await startDev()).receiver)).status).toBe(200)
})

test('if the receiver’s port is taken, it uses another one', async () => {
  const other = createServer().listen(port + 1, '127.0.0.1')
  await once(other, 'listening')
  const dev = await startDev()
  expect(dev.receiver).not.toBe(`http://127.0.0.1:${port + 1}`)
  expect((await fetch(dev.receiver)).status).toBe(200)
  other.close()
})

test('a data folder that can’t be written is reported in one line', async () => {
  const file = join(folder, 'a-file')
  await writeFile(file, '')
  const ran = await svc(target, ['dev'], { env: { SVC_DATA_DIR: file } })
  expect(ran).toMatchObject({ status: 4, stdout: '' })
  expect(ran.stderr).toMatch(/^error: The data folder .* can't be written.*\n/)
})

test('svc serve on a former folder of svc dev allows no webhook to a local address, and neither does the CLI', async () => {
  const dev = await startDev()
  expect(await dev.end('SIGTERM')).toBe(0)
  await startDaemon(target, { env: { SVC_PORT: target.env.SVC_PORT! } })
  await svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', 'served@sample.example'])
  const newest = async () => (await svc(target, ['deliveries', 'list', '--json'])).json.deliveries[0]
  const refused = { lastStatus: null, lastError: expect.stringContaining('not public') }
  await expect.poll(newest, { interval: 200 }).toMatchObject(refused)
  const url = ['--url', 'http://127.0.0.1:9/hook', '--events', 'contact.created']
  expect((await svc(target, ['webhooks', 'create', ...url])).status).toBe(2)
})

test('without a name server, reserved domains are valid, by the API and by a command; those under .invalid are not', async () => {
  // No name server listens there.
  target.env.SVC_DNS_SERVERS = '127.0.0.1:9'
  const dev = await startDev()
  const list = ['--list', 'Sample contacts']
  const verdictOf = async (email: string) =>
    (await svc(target, ['contacts', 'show', email, '--json'])).json.contacts[0].verification
  const upsert = async (email: string) => {
    const lists = (await (await listsWith(dev.api, dev.key)).json()) as { lists: { id: string; name: string }[] }
    const listId = lists.lists.find(({ name }) => name === 'Sample contacts')!.id
    const headers = { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' }
    await fetch(`${dev.api}/contacts`, { method: 'POST', headers, body: JSON.stringify({ listId, email }) })
  }
  for (const email of ['api@example.com', 'api@shop.test']) await upsert(email)
  for (const email of ['cli@example.org', 'cli@shop.example'])
    await svc(target, ['contacts', 'upsert', ...list, '--email', email])
  for (const email of ['api@example.com', 'api@shop.test', 'cli@example.org', 'cli@shop.example'])
    expect(await verdictOf(email), email).toMatchObject({ status: 'valid', reasons: [] })
  for (const add of [upsert, (email: string) => svc(target, ['contacts', 'upsert', ...list, '--email', email])])
    await add('gone@shop.invalid')
  expect(await verdictOf('gone@shop.invalid')).toMatchObject({ status: 'invalid', reasons: ['domain_not_found'] })
  const part = join(folder, 'demo.json')
  const mail = ['--subject', 'Hi', '--html', `@${part}`, '--text', `@${part}`]
  const unsent = await svc(target, ['send', '--to', 'gone@shop.invalid', ...mail])
  expect(unsent.stderr).toBe(
    'not sent: the address failed verification (domain_not_found)\n  next: svc contacts verify gone@shop.invalid\n',
  )
})

test('svc listen finds the daemon of svc dev without any settings', async () => {
  await startDev()
  const listener = startSvc(target, ['listen'])
  const [said] = await once(listener.stderr.setEncoding('utf8'), 'data')
  expect(said).toMatch(/^Ready: deliveries of demo arrive here/)
  listener.kill('SIGINT')
  expect(await once(listener, 'close')).toEqual([130, null])
})

test('a hanging email does not delay the stop, and is caught when svc dev ends', async () => {
  const dev = await startDev()
  expect((await svc(target, ['mail', 'mode', 'hang'])).status).toBe(0)
  const send = fetch(`${dev.api}/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: 'late@example.com', subject: 'Late', html: '<p>Hi</p>', text: 'Hi' }),
  })
  const held = async () => (await (await fetch(dev.console)).text()).includes('1 held now')
  await expect.poll(held).toBe(true)
  const began = performance.now()
  expect(await dev.end('SIGTERM')).toBe(0)
  expect(performance.now() - began).toBeLessThan(8000)
  expect(await (await send).json()).toMatchObject({ status: 'sent' })
  expect((await svc(target, ['mail', 'list', '--to', 'late@example.com', '--json'])).json.mail).toHaveLength(1)
  expect((await svc(target, ['mail', 'list', '--limit', '1', '--json'])).json.mail).toHaveLength(1)
  expect((await svc(target, ['mail', 'list', '--limit', '0'])).status).toBe(2)
  expect((await svc(target, ['mail', 'clear', '--yes'])).status).toBe(0)
})

test('emails that are sent by the API and by the CLI are caught and shown by svc mail with their parts', async () => {
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
    `@${part}`,
    '--text',
    `@${part}`,
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

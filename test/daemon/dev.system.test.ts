import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { consoleUrl } from '../../src/tools/dev/dev.ts'
import { type Ran, startSvc, svc, useOneApp } from '../support/cli.ts'
import { freePort, startDaemon } from '../support/daemon.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { copyDataFolder, newDataFolder } from '../support/folder.ts'
import { inTest } from '../support/scope.ts'

type Target = { env: Record<string, string> }
type Dev = Awaited<ReturnType<typeof startDev>>

const targetOf = async (folder: string): Promise<Target> => ({
  env: { SVC_DATA_DIR: folder, SVC_PORT: String(await freePort()) },
})

/** Starts a real `svc dev`; resolves once it is ready. */
const startDev = async (target: Target, flags: string[] = []) => {
  const child = startSvc(target, ['dev', ...flags])
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk))
  const exited = once(child, 'close').then(([status]) => status as number | null)
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`svc dev ended: ${stderr}`)
    return /^Ctrl-C/m.test(stdout)
  })
  return {
    end(signal: NodeJS.Signals) {
      child.kill(signal)
      return inTest(exited)
    },
    stdout,
    stderr: () => stderr,
    api: /^ {2}API\s+(\S+)/m.exec(stdout)![1]!,
    console: /Console\s+(\S+)/.exec(stdout)![1]!,
    receiver: /Console\s+(\S+)/.exec(stdout)![1]!,
    key: /Demo key\s+(\S+)/.exec(stdout)![1]!,
  }
}

const deliveriesAt = (url: string, count: number) =>
  eventually(async () => {
    const shown = (await (await fetch(`${url}/deliveries`)).json()) as {
      total: number
      notVerified: number
      deliveries: { type: string; verified: boolean; body: string }[]
    }
    return shown.total >= count && shown
  })

const listsWith = ({ api, key }: Pick<Dev, 'api' | 'key'>) =>
  fetch(`${api}/lists`, { headers: { authorization: `Bearer ${key}` } })
const firstList = async (dev: Dev) =>
  ((await (await listsWith(dev)).json()) as { lists: { id: string; name: string }[] }).lists[0]!
const post = ({ api, key }: Dev, path: string, body: object) =>
  fetch(`${api}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const upsert = (target: Target, email: string) =>
  svc(target, ['contacts', 'upsert', '--list', 'Sample contacts', '--email', email])
const webhookIds = async (target: Target) => {
  const { json } = await svc(target, ['webhooks', 'list', '--json', '--account', 'demo'])
  return json.webhooks.map(({ id }: { id: string }) => id)
}
const demoOf = async (folder: string) => JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'))
const listen = async (port: number) => {
  const other = createServer().listen(port, '127.0.0.1')
  await once(other, 'listening')
  return other
}

/** The folder of the first start, stopped. Other tests use copies of it. */
let source: string
/** What the first start did. */
let first: {
  dev: Dev
  port: number
  answers: unknown[]
  shown: Awaited<ReturnType<typeof deliveriesAt>>
  status: number | null
}

beforeAll(async () => {
  source = await newDataFolder()
  // The flag takes precedence over the setting.
  const target = await targetOf(join(source, '../other'))
  const dev = await startDev(target, ['--data-dir', source])
  const port = Number(target.env.SVC_PORT)
  const { status } = await fetch(`http://127.0.0.1:${port}/openapi.json`)
  const home = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  const lists = await (await listsWith(dev)).json()
  const shown = await deliveriesAt(dev.receiver, 5)
  first = { dev, port, answers: [status, home, lists], shown, status: await dev.end('SIGTERM') }
})
const copy = () => copyDataFolder(source)

test('the first start brings everything up in the folder of --data-dir, prints the addresses, and has deliveries to show', async () => {
  const { dev, port, answers, shown, status } = first
  expect(dev.api).toBe(`http://127.0.0.1:${port}/api/v1`)
  expect(dev.receiver).toBe(`http://127.0.0.1:${port + 1}`)
  expect(dev.stdout).toContain(`http://127.0.0.1:${port}/docs`)
  // Half a screen of 24 lines, and one for the folder that this test sets.
  expect(dev.stdout.trim().split('\n')).toHaveLength(13)
  expect(dev.stdout.split('\n').filter((line) => line.length > 80 && !line.includes(source))).toEqual([])
  expect(dev.stdout).toContain(`embedded, in ${source}`)
  expect(dev.stdout).toContain(`\n  export SVC_DATA_DIR=${source}\n  svc send`)
  expect(dev.stdout).not.toContain('\u001b')
  expect(answers).toEqual([
    200,
    expect.stringContaining(`<a href="${dev.console}">Console</a>`),
    { lists: [expect.objectContaining({ name: 'Sample contacts', rowCount: 5 })] },
  ])
  expect(shown).toMatchObject({ total: 5, notVerified: 0 })
  expect(shown.deliveries.map(({ type }) => type)).toEqual(Array(5).fill('contact.created'))

  expect(existsSync(join(source, '../other'))).toBe(false)
  expect((await stat(join(source, 'demo.json'))).mode & 0o777).toBe(0o600)
  expect(status).toBe(0)
  // Standard error shows each request as a readable line, and nothing else.
  const line = /^\d\d:\d\d:\d\d {2}GET {4}200 {2}\/(openapi\.json|api\/v1\/lists)? {2}[\d.]+ ms( {2}key_\w+)?$/
  expect(dev.stderr().trim().split('\n')).toEqual([1, 2, 3].map(() => expect.stringMatching(line)))
  expect(existsSync(join(source, 'pgdata/postmaster.pid'))).toBe(false)
})

describe('while svc dev runs', () => {
  let folder: string
  let target: Target
  let dev: Dev
  let port: number
  /** What happened before and while it started. */
  let start: {
    keyBefore: string
    reset: Ran
    onTakenPort: Ran
    consoleOfKilled: string | null
    second: Ran
  }

  beforeAll(async () => {
    folder = await copy()
    target = await targetOf(folder)
    port = Number(target.env.SVC_PORT)
    // No name server listens there.
    target.env.SVC_DNS_SERVERS = '127.0.0.1:9'

    const { key: keyBefore } = await demoOf(folder)
    const reset = await svc(target, ['db', 'reset', '--yes'])
    const onPort = await listen(port)
    const onTakenPort = await svc(target, ['dev'])
    onPort.close()
    await once(onPort, 'close')

    const claim = join(folder, 'dev')
    const isStarting = () => eventually(async () => (await readFile(claim, 'utf8')) === '')
    const killed = startSvc(target, ['dev'])
    await isStarting()
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    // As one leaves it that is killed later.
    await writeFile(claim, 'http://127.0.0.1:9\nhttp://127.0.0.1:9\n')
    const consoleOfKilled = await consoleUrl({ SVC_DATA_DIR: folder })

    const other = await listen(port + 1)
    const starting = startDev(target)
    await isStarting()
    const second = await svc(target, ['dev'])
    dev = await starting
    other.close()
    start = { keyBefore, reset, onTakenPort, consoleOfKilled, second }
  })
  // The commands' own way to the database is the subject of the later starts.
  useOneApp()

  test('it created a new demo in a database that was reset, after a start that failed', async () => {
    expect(start.reset.status).toBe(0)
    expect(start.onTakenPort).toMatchObject({ status: 4, stdout: '' })
    expect(start.onTakenPort.stderr).toBe(`error: Port ${port} is taken\n  next: set SVC_PORT to a free one\n`)
    expect(dev.key).not.toBe(start.keyBefore)
    expect((await listsWith(dev)).status).toBe(200)
    expect(await deliveriesAt(dev.receiver, 5)).toMatchObject({ notVerified: 0 })
  })

  test('it was not blocked by one that was killed, and another one was refused while it was still starting', async () => {
    expect(start.consoleOfKilled).toBe(null)
    expect(start.second).toMatchObject({ status: 6, stdout: '' })
    expect(start.second.stderr).toMatch(/^error: svc dev already runs on \S+(, at http:\S+| and is still starting)\n/)
    expect((await listsWith(dev)).status).toBe(200)
  })

  test('and the receiver’s port is taken, it uses another one', async () => {
    expect(dev.receiver).not.toBe(`http://127.0.0.1:${port + 1}`)
    expect((await fetch(dev.receiver)).status).toBe(200)
  })

  test('the commands that it prints work in another terminal', async () => {
    await svc(target, ['mail', 'clear', '--yes'])
    const [, commands] = dev.stdout.split(`  export SVC_DATA_DIR=${folder}\n`)
    const printed = [...commands!.matchAll(/^ {2}svc (.*)$/gm)].map(([, words]) => words!)
    const [sent, upserted, board] = printed
    expect(printed).toHaveLength(3)
    expect(await svc(target, sent!.split(' '))).toMatchObject({ status: 0 })
    const words = [...upserted!.matchAll(/"([^"]+)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
    expect(await svc(target, words)).toMatchObject({ status: 0 })
    expect(await svc(target, board!.split(' '))).toMatchObject({ status: 0 })
    expect(
      (await post(dev, '/contacts', { listId: (await firstList(dev)).id, email: 'api@sample.example' })).status,
    ).toBe(201)
    // Five of the new demo.
    await deliveriesAt(dev.receiver, 7)
    const mail = (await svc(target, ['mail', 'wait', '--to', 'you@example.com', '--json'])).json
    expect(mail).toMatchObject({ subject: 'Welcome', html: expect.stringContaining('Welcome aboard') })
    // The email's picture can be loaded, and the console shows the email, the event and the request.
    const [picture] = new RegExp(`http://127.0.0.1:${port}/sample/[^"]+`).exec(mail.html)!
    const shown = await fetch(picture)
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await shown.arrayBuffer()).toString('latin1', 1, 4)).toBe('PNG')
    const console = await (await fetch(dev.console)).text()
    expect(console).toMatch(/1 email · 7 webhooks[\s\S]*contact\.created[\s\S]*POST<[\s\S]*\/api\/v1\/contacts</)
    expect(console).not.toContain(dev.key)
    // Commands in another terminal name the console.
    expect(await consoleUrl({ SVC_DATA_DIR: folder })).toBe(dev.console)
    expect(await consoleUrl({ SVC_DATA_DIR: folder, DATABASE_URL: 'postgres://db/svc' })).toBe(null)
  })

  test.each([
    ['its port', async () => port],
    ['another port', freePort],
  ])(
    'a second svc dev on the same folder, on %s, is refused with the address of the first, which is not affected',
    async (_, portOfSecond) => {
      const read = () => Promise.all(['demo.json', 'catcher'].map((name) => readFile(join(folder, name), 'utf8')))
      const kept = await read()
      const at = await portOfSecond()
      const second = await svc(target, ['dev'], { env: { SVC_PORT: String(at) } })
      expect(second).toMatchObject({ status: 6, stdout: '' })
      expect(second.stderr).toBe(
        `error: svc dev already runs on ${folder}, at http://127.0.0.1:${port}\n  next: use that one, or stop it with Ctrl-C; for a second one set SVC_DATA_DIR (or --data-dir) to another folder and SVC_PORT to a free port\n`,
      )
      expect((await listsWith(dev)).status).toBe(200)
      await upsert(target, `at${at}@sample.example`)
      const { notVerified } = await eventually(async () => {
        const shown = await deliveriesAt(dev.receiver, 1)
        return shown.deliveries.some(({ body }) => body.includes(`at${at}@sample.example`)) && shown
      })
      expect(notVerified).toBe(0)
      const part = join(folder, 'demo.json')
      const mail = ['--to', `second${at}@example.com`, '--subject', 'Still', '--html', `@${part}`, '--text', `@${part}`]
      expect((await svc(target, ['send', ...mail, '--json'])).json).toMatchObject({ status: 'sent' })
      expect((await svc(target, ['mail', 'list', '--to', `second${at}@example.com`, '--json'])).json.mail).toHaveLength(
        1,
      )
      expect(await read()).toEqual(kept)
    },
  )

  test('reserved domains are valid without a name server, by the API and by a command; those under .invalid are not', async () => {
    const verdictOf = async (email: string) =>
      (await svc(target, ['contacts', 'show', email, '--json'])).json.contacts[0].verification
    const upsertByApi = async (email: string) => {
      await post(dev, '/contacts', { listId: (await firstList(dev)).id, email })
    }
    const [byApi, byCommand] = [
      ['api@example.com', 'api@shop.test'],
      ['cli@example.org', 'cli@shop.example'],
    ]
    for (const email of byApi!) await upsertByApi(email)
    for (const email of byCommand!) await upsert(target, email)
    for (const email of [...byApi!, ...byCommand!])
      expect(await verdictOf(email), email).toMatchObject({ status: 'valid', reasons: [] })
    for (const add of [upsertByApi, (email: string) => upsert(target, email)]) await add('gone@shop.invalid')
    expect(await verdictOf('gone@shop.invalid')).toMatchObject({ status: 'invalid', reasons: ['domain_not_found'] })
    const part = join(folder, 'demo.json')
    const mail = ['--subject', 'Hi', '--html', `@${part}`, '--text', `@${part}`]
    const unsent = await svc(target, ['send', '--to', 'gone@shop.invalid', ...mail])
    expect(unsent.stderr).toBe(
      'not sent: the address failed verification (domain_not_found)\n  next: svc contacts verify gone@shop.invalid\n',
    )
  })

  test('svc listen finds its daemon without any settings', async () => {
    const listener = startSvc(target, ['listen'])
    const [said] = await once(listener.stderr.setEncoding('utf8'), 'data')
    expect(said).toMatch(/^Ready: deliveries of demo arrive here/)
    listener.kill('SIGINT')
    expect(await once(listener, 'close')).toEqual([130, null])
  })

  test('emails that are sent by the API and by the CLI are caught and shown by svc mail with their parts', async () => {
    await svc(target, ['mail', 'clear', '--yes'])
    const answer = await post(dev, '/send', { to: 'api@example.com', subject: 'Grüße', html: '<p>Hi</p>', text: 'Hi' })
    expect(await answer.json()).toMatchObject({ status: 'sent' })
    const caught = await svc(target, ['mail', 'wait', '--to', 'api@example.com', '--json'])
    expect(caught.json).toMatchObject({ subject: 'Grüße', to: 'api@example.com', from: 'hello@sample.example' })
    expect([caught.json.html.trim(), caught.json.text.trim()]).toEqual(['<p>Hi</p>', 'Hi'])
    const part = join(folder, 'part')
    await writeFile(part, 'Hello')
    const mail = ['--to', 'me@example.com', '--subject', 'Two', '--html', `@${part}`, '--text', `@${part}`]
    const sent = await svc(target, ['send', ...mail, '--json'])
    expect(sent.json).toMatchObject({ status: 'sent' })
    const found = (await svc(target, ['mail', '--json'])).json.mail
    expect(found.map(({ subject }: { subject: string }) => subject)).toEqual(['Two', 'Grüße'])
    const shown = (await svc(target, ['mail', 'show', found[0].id, '--json'])).json
    expect(shown.headers['message-id']).toBe(`<${sent.json.id}@sample.example>`)
    expect((await svc(target, ['mail', 'show', 'msg_nothing'])).status).toBe(3)
    expect((await svc(target, ['mail', 'wait', '--subject', 'Three', '--timeout', '1s'])).status).toBe(1)
    expect((await svc(target, ['mail', 'clear'])).status).toBe(2)
    expect((await svc(target, ['mail', 'clear', '--yes', '--json'])).json).toEqual({ ok: true, removed: 2 })
    expect((await svc(target, ['mail', 'list', '--json'])).json).toEqual({ mail: [] })
  })
})

describe('a later start', () => {
  test('keeps the account, the key and the subscription on another port, and delivers changes from before it', async () => {
    const target = await targetOf(await copy())
    const { key, webhookId } = await demoOf(target.env.SVC_DATA_DIR!)
    expect((await upsert(target, 'later@sample.example')).status).toBe(0)
    expect((await svc(target, ['clock', 'advance', '1h'])).status).toBe(0)
    const dev = await startDev(target)
    expect([first.dev.stdout, dev.stdout].map((text) => /^ {2}Clock .*/m.exec(text)?.[0])).toEqual([
      undefined,
      '  Clock      1 h ahead of the system (svc clock reset)',
    ])
    expect(dev.receiver).not.toBe(first.dev.receiver)
    expect([dev.key, await webhookIds(target)]).toEqual([key, [webhookId]])
    const { deliveries, notVerified } = await deliveriesAt(dev.receiver, 1)
    expect(deliveries[0]!.body).toContain('later@sample.example')
    expect(notVerified).toBe(0)
    const accounts = await svc(target, ['accounts', 'list', '--json'])
    expect(accounts.json.accounts).toMatchObject([{ name: 'demo', plan: 'unlimited' }])
    expect((await svc(target, ['lists', 'list', '--json'])).json.lists).toHaveLength(1)
    // The sample project is unchanged, except for the URL of its picture.
    const { projects } = (await svc(target, ['projects', 'list', '--json'])).json
    expect(projects).toMatchObject([{ name: 'Welcome' }])
    const project = (await svc(target, ['projects', 'show', 'Welcome', '--json'])).json
    expect(JSON.stringify(project)).toContain(`http://127.0.0.1:${target.env.SVC_PORT}/sample/harbour.png`)
    await upsert(target, 'new@sample.example')
    expect(await deliveriesAt(dev.receiver, 2)).toMatchObject({ total: 2, notVerified: 0 })
    expect(await dev.end('SIGINT')).toBe(130)
  })

  test('creates a revoked key and a deleted subscription again, and changes neither another account nor what is deleted; a hanging email does not delay its stop, and is caught then', async () => {
    const target = await targetOf(await copy())
    const { key, keyId, webhookId } = await demoOf(target.env.SVC_DATA_DIR!)
    expect((await svc(target, ['keys', 'revoke', keyId, '--yes'])).status).toBe(0)
    expect((await svc(target, ['webhooks', 'delete', webhookId, '--yes'])).status).toBe(0)
    expect((await svc(target, ['projects', 'delete', 'Welcome', '--yes'])).status).toBe(0)
    expect((await svc(target, ['accounts', 'create', '--name', 'other', '--plan', 'free'])).status).toBe(0)
    const dev = await startDev(target)
    expect(dev.key).not.toBe(key)
    expect((await listsWith(dev)).status).toBe(200)
    expect(await webhookIds(target)).toHaveLength(1)
    const ofDemo = ['--json', '--account', 'demo']
    expect((await svc(target, ['projects', 'list', ...ofDemo])).json).toEqual({ projects: [] })
    expect((await svc(target, ['webhooks', 'list', '--json', '--account', 'other'])).json.webhooks).toEqual([])

    expect((await svc(target, ['mail', 'mode', 'hang'])).status).toBe(0)
    const mail = { to: 'late@example.com', subject: 'Late', html: '<p>Hi</p>', text: 'Hi' }
    const send = post(dev, '/send', mail)
    await eventually(async () => (await (await fetch(dev.console)).text()).includes('1 held now'))
    const ended = dev.end('SIGTERM')
    expect(await settlesWithin(ended, 8000)).toBe(true)
    expect(await ended).toBe(0)
    expect(await (await send).json()).toMatchObject({ status: 'sent' })
    expect((await svc(target, ['mail', 'list', '--to', 'late@example.com', '--json'])).json.mail).toHaveLength(1)
    expect((await svc(target, ['mail', 'list', '--limit', '1', '--json'])).json.mail).toHaveLength(1)
    expect((await svc(target, ['mail', 'list', '--limit', '0'])).status).toBe(2)
    expect((await svc(target, ['mail', 'clear', '--yes'])).status).toBe(0)
  })

  test('as svc serve allows no webhook to a local address, and neither does the CLI', async () => {
    const target = await targetOf(await copy())
    await startDaemon(target, { env: { SVC_PORT: target.env.SVC_PORT! } })
    await upsert(target, 'served@sample.example')
    const newest = async () => (await svc(target, ['deliveries', 'list', '--json'])).json.deliveries[0]
    const refused = { lastStatus: null, lastError: expect.stringContaining('not public') }
    await expect.poll(newest, { interval: 200 }).toMatchObject(refused)
    const url = ['--url', 'http://127.0.0.1:9/hook', '--events', 'contact.created']
    expect((await svc(target, ['webhooks', 'create', ...url])).status).toBe(2)
  })
})

test('a data folder that can’t be written is reported in one line', async () => {
  const file = join(source, '../a-file')
  await writeFile(file, '')
  const ran = await svc({ env: { SVC_DATA_DIR: file } }, ['dev'])
  expect(ran).toMatchObject({ status: 4, stdout: '' })
  expect(ran.stderr).toMatch(/^error: The data folder .* can't be written.*\n/)
})

test('neither is one below a folder that can’t hold folders tried forever', async () => {
  const ran = await svc({ env: { SVC_DATA_DIR: '/proc/self/none/.svc' } }, ['dev'])
  expect(ran).toMatchObject({ status: 4, stdout: '' })
  expect(ran.stderr).toMatch(/^error: The data folder .* can't be written.*\n/)
})

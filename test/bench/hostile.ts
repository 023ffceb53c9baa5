import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { z } from 'zod'
import type { OpenApp } from '../../src/app/app.ts'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { createForm, FormFile } from '../../src/forms/forms.ts'
import { bodyLimits } from '../../src/http/bodies.limits.ts'
import type { Route } from '../../src/http/route.ts'
import { queueMails } from '../../src/messages/messages.ts'
import type { Page } from '../../src/pages/page.ts'
import { addSender } from '../../src/senders/senders.change.ts'
import { applyProjects, sampleProject } from '../../src/studio/studio.ts'
import type { Vitals } from './hostile.process.ts'
import { type Bench, below, benchAccount, percentile, type Row } from './support.ts'

const start = async (args: string[], env: Record<string, string> = {}) => {
  const child = fork(join(import.meta.dirname, 'hostile.process.ts'), args, { env: { ...process.env, ...env } })
  const [first] = (await once(child, 'message')) as [number]
  return {
    first,
    async take<T>(): Promise<T> {
      child.send('take')
      return (await once(child, 'message'))[0] as T
    },
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

interface Victim {
  account: { id: string; key: string }
  listId: string
  formId: string
  messageId: string
}

const prepare = async (app: OpenApp): Promise<Victim> => {
  const account = await benchAccount(app)
  return app.work(account.id, 'cli:bench', async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
    const { id: listId } = await createList(work, { name: 'Leads' })
    const form = await createForm(work, FormFile.parse({ name: 'Form', list: 'Leads', fields: ['first_name'] }))
    const [project] = await applyProjects(work, [sampleProject('http://svc.example/picture.png')])
    const to = 'person@people.example'
    const content = { projectId: project!.id!, mergeData: { name: 'Person', email: to } }
    const mail = { to, type: 'transactional' as const, key: null, source: { kind: 'send' as const, id: null }, content }
    const [queued] = await queueMails(app, work, [mail])
    return { account, listId, formId: form.id, messageId: (queued as { id: string }).id }
  })
}

/** Repeats a piece up to `bytes`. */
const fill = (piece: string, bytes: number): string =>
  piece.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(piece))))
const numbered = (of: (i: number) => string, bytes: number, most: number): string => {
  const parts: string[] = []
  for (let left = bytes; left > 20 && parts.length < most; left -= parts.at(-1)!.length + 1)
    parts.push(of(parts.length))
  return parts.join(',')
}

const marks = '\u0315\u0300'

/** JSON values of at most `bytes` each that are as expensive to process as possible. */
const values = (bytes: number, most: number): Record<string, string> => ({
  marks: `"a${fill(marks, bytes)}@x.example"`,
  escapedMarks: `"${fill('\\u0315\\u0300', bytes)}"`,
  letters: `"${fill('x', bytes)}"`,
  blanks: `"x${fill(' ', bytes)}x"`,
  lines: `"${fill('\\r\\n', bytes)}"`,
  nuls: `"${fill('\\u0000', bytes)}"`,
  halves: `"${fill('\\ud800', bytes)}"`,
  tags: `"${fill('{{ a }}', bytes)}"`,
  angles: `"${fill('<', bytes)}"`,
  digits: fill('9', bytes),
  objects: `[${numbered(() => '{}', bytes, most)}]`,
  texts: `[${numbered(() => '"x"', bytes, most)}]`,
  contacts: `[${numbered((i) => `{"email":"a${i}${marks.repeat(60)}@é${i}.example"}`, bytes, 500)}]`,
  names: `{${numbered((i) => `"k${i}":1`, bytes, most)}}`,
  indexes: `{${numbered((i) => `"${7 * i}":"x"`, bytes, most)}}`,
  deep: `${'['.repeat(60)}${']'.repeat(60)}`,
})

/** Complete bodies that do not depend on a property. */
const wholes = (bytes: number): Record<string, string | Buffer> => ({
  tooDeep: fill('[', bytes),
  tooDeepObjects: fill('{"a":', bytes),
  tooMany: `[${fill('{},', bytes - 10)}{}]`,
  sameName: `{${fill('"a":1,', bytes - 10)}"a":1}`,
  blank: fill(' ', bytes),
  open: `{"email":"${fill('x', bytes - 20)}`,
  escapes: `{"email":"${fill('\\"', bytes - 20)}"}`,
  proto: `{${fill('"a":"__proto__",', bytes - 40)}"__proto__":1}`,
  notUtf8: Buffer.concat([Buffer.from('{"email":"'), Buffer.alloc(bytes - 20, 0xe9), Buffer.from('"}')]),
})

const namesOf = (route: Pick<Route, 'body'>): string[] => {
  const schema = z.toJSONSchema(route.body!, { io: 'input', unrepresentable: 'any' })
  const shapes = [schema, ...(schema.anyOf ?? [])] as { properties?: object }[]
  return [...new Set(shapes.flatMap(({ properties = {} }) => Object.keys(properties)))]
}

interface Hostile {
  name: string
  type: string
  body: string | Buffer
}

const json = 'application/json'

/** Bodies in which one property is hostile and the others are plain; then bodies in which all are hostile. */
const bodiesOf = (names: readonly string[], bytes: number, plain: Record<string, unknown>): Hostile[] => {
  const most = bytes > bodyLimits.keyed ? 49_000 : 9_000
  const room = bytes - 2_000
  const bodies: Hostile[] = Object.entries(wholes(bytes)).map(([name, body]) => ({ name, type: json, body }))
  for (const [kind, value] of Object.entries(values(room, most))) {
    for (const name of names) {
      const others = Object.entries(plain).flatMap(([k, v]) =>
        k === name ? [] : `${JSON.stringify(k)}:${JSON.stringify(v)}`,
      )
      bodies.push({ name: `${name}: ${kind}`, type: json, body: `{${[...others, `"${name}":${value}`].join(',')}}` })
    }
  }
  const share = values(Math.floor(room / names.length), Math.floor(most / names.length))
  for (const [kind, value] of Object.entries(share))
    bodies.push({ name: `all: ${kind}`, type: json, body: `{${names.map((name) => `"${name}":${value}`).join(',')}}` })
  return bodies
}

const form = 'application/x-www-form-urlencoded'

const postsOf = (bytes: number): Hostile[] =>
  [
    fill('a=1&', bytes),
    fill('&', bytes),
    fill('=', bytes),
    fill('%', bytes),
    `email=${fill('%CC%95%CC%80', bytes - 10)}`,
    `email=${fill('+', bytes - 10)}x`,
  ].map((body, i) => ({ name: `form ${i}`, type: form, body }))

/** Plain values of the properties that decide whether the server reads the others. */
const plainOf = (path: string, { listId }: Victim): Record<string, unknown> => ({
  ...(path === '/contacts' && { listId, email: 'ada@x.example' }),
  ...(path === '/send' && { to: 'ada@x.example', subject: 's', html: 'h', text: 't' }),
  ...(path === '/deals' && { title: 'x', email: 'ada@x.example' }),
  ...(path === '/webhooks' && { url: 'https://x.example', events: ['deal.created'] }),
  ...(path.endsWith('/interactions') && { blockId: 'rate-us', value: 4 }),
})

interface Target {
  title: string
  method: string
  path: string
  isLarge: boolean
  /** Created when they are sent: together they take 3 GB. */
  bodies: () => Hostile[]
}

const targetsOf = (routes: readonly Route[], pages: readonly Page[], app: OpenApp, victim: Victim): Target[] => {
  const { account, formId, messageId } = victim
  const tokenOf = (purpose: Page['token']) => app.tokens.sign(purpose!, [account.id, messageId], null)
  const nonsense = `${'A'.repeat(60)}.${'A'.repeat(22)}`
  const targets: Target[] = []
  for (const route of routes) {
    const { method, path, isOpen, takesLarge } = route
    const bytes = isOpen ? bodyLimits.open : takesLarge ? bodyLimits.large : bodyLimits.keyed
    const bodies = () =>
      route.body ? bodiesOf(namesOf(route), bytes, plainOf(path, victim)) : [{ name: 'none', type: '', body: '' }]
    const tokens = path.includes(':token') ? [tokenOf('liveview'), nonsense] : ['']
    for (const token of tokens) {
      const filled = path.replace(':token', token).replace(/:id/, 'x_1')
      // Without a body the query is hostile.
      const query = route.body ? '' : `?email=${fill('%CC%95%CC%80', 12_000)}`
      const of = token === nonsense ? ' (nonsense)' : ''
      targets.push({
        title: `${method} ${path}${of}`,
        method,
        path: `/api/v1${filled}${query}`,
        isLarge: bytes > bodyLimits.keyed,
        bodies,
      })
    }
  }
  for (const { method, path, token, takes } of pages) {
    if (method !== 'POST') continue
    const filled = path
      .replace(':token', token ? tokenOf(token) : '')
      .replace(':id', formId)
      .replace(/:\w+/g, 'x')
    const jsons = () =>
      takes === 'json' ? bodiesOf(['email', 'first_name'], bodyLimits.open, { email: 'ada@x.example' }) : []
    targets.push({
      title: `POST ${path}`,
      method,
      path: filled,
      isLarge: false,
      bodies: () => [...postsOf(bodyLimits.open), ...jsons()],
    })
  }
  return targets
}

/** The p99 of fewer calls is their maximum. */
const leastWaits = 200

const uploads = 60

/** Returns the peak memory that unfinished uploads take of a warm server. */
const heldBy = async (
  url: string,
  server: { take<T>(): Promise<T> },
  warm: { headers: Record<string, string>; body: string },
  head: string,
  piece: string,
): Promise<number> => {
  const { hostname, port } = new URL(url)
  // Warms the server up: its pools are open and its code is compiled.
  const headers = { ...warm.headers, 'content-type': json }
  for (let i = 0; i < 200; i++)
    await (await fetch(`${url}/api/v1/contacts`, { method: 'POST', ...warm, headers })).text()
  await server.take()
  await sleep(300)
  const { rssMb: before } = await server.take<Vitals>()
  const sockets: Socket[] = []
  for (let i = 0; i < uploads; i++) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.resume().write(head)
    socket.write(piece)
    sockets.push(socket)
  }
  await sleep(5_000)
  const { rssMb } = await server.take<Vitals>()
  for (const socket of sockets) socket.destroy()
  return rssMb - before
}

/**
 * Measures what strangers and other accounts can do to the second account with bodies within their limits: the p99 of its GET
 * while each route receives its worst bodies, the longest event loop stall, and the memory that unfinished uploads hold.
 */
export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app({ SVC_PUBLIC_URL: 'http://svc.example' })
  const env = b.env(app.config.databaseUrl!, {
    SVC_PUBLIC_URL: 'http://svc.example',
    SVC_RATE_LIMIT_FORMS: '0',
    SVC_RATE_LIMIT_PUBLIC: '0',
    SVC_DNS_SERVERS: '127.0.0.1:9',
  })
  const victim = await prepare(app)
  const second = await benchAccount(app, 'second')
  const [routes, pages] = await Promise.all([loadRoutes(), loadPages()])
  const rows: Row[] = []

  const server = await start(['serve'], env)
  const url = `http://127.0.0.1:${server.first}`
  const pool = new Pool(url, { connections: 2 })
  const authorization = `Bearer ${victim.account.key}`
  const send = async ({ method, path }: Target, { type, body }: Hostile): Promise<void> => {
    const headers = { authorization, ...(type && { 'content-type': type }) }
    const reply = await pool
      .request({ method: method as 'POST', path, headers, ...(body.length > 0 && { body }) })
      .catch((error: { code?: string }) => {
        // The server refused the body and closed the connection before it was sent completely.
        if (!['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(error.code ?? '')) throw error
      })
    await reply?.body.dump()
    if (reply?.statusCode === 500) throw new Error(`${path} answered 500`)
  }
  const second$ = await start(['witness', url, second.key])
  await sleep(2_000)
  let longest = { stallMs: 0, name: '' }
  const { listId } = victim
  const ordinary: Target = { title: '', method: 'POST', path: '/api/v1/contacts', isLarge: false, bodies: () => [] }
  const contact: Hostile = { name: '', type: json, body: JSON.stringify({ listId, email: 'ada@x.example' }) }
  const waitsBeside = async (send: () => Promise<void>): Promise<number[]> => {
    const waits: number[] = []
    await second$.take()
    while (waits.length < leastWaits) {
      await send()
      waits.push(...(await second$.take<number[]>()))
    }
    return waits
  }
  for (const target of targetsOf(routes, pages, app, victim)) {
    const bodies = target.bodies()
    await server.take()
    const waits = await waitsBeside(async () => {
      for (const hostile of bodies) {
        await send(target, hostile)
        const { stallMs } = await server.take<Vitals>()
        if (stallMs > longest.stallMs) longest = { stallMs, name: `${target.title}, ${hostile.name}` }
      }
    })
    // Other load on this machine delays both.
    const usual = percentile(await waitsBeside(() => send(ordinary, contact)), 99)
    const title = `p99 beside ${target.title}, ${Math.round(usual)} beside ordinary calls`
    rows.push(below(title, 'ms', percentile(waits, 99), target.isLarge ? 150 : 60))
  }
  rows.push(below(`longest stall (${longest.name})`, 'ms', longest.stallMs, 250))
  await second$.stop()
  await pool.close()
  await server.stop()

  const token = app.tokens.sign('liveview', [victim.account.id, victim.messageId], null)
  const open = `/api/v1/liveview/${token}/interactions`
  const headOf = (path: string, length: string) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n${length}\r\n\r\n`
  const kinds = {
    'with a key': [headOf('/api/v1/contacts', 'content-length: 8388608'), `"${'x'.repeat(8_388_000)}`],
    'in pieces of a byte': [
      headOf('/api/v1/contacts', 'transfer-encoding: chunked'),
      `1\r\n"\r\n${'1\r\nx\r\n'.repeat(500_000)}`,
    ],
    'without a key': [headOf(open, 'content-length: 65536'), `"${'x'.repeat(65_000)}`],
    'without a key, in pieces of a byte': [
      headOf(open, 'transfer-encoding: chunked'),
      `1\r\n"\r\n${'1\r\nx\r\n'.repeat(65_000)}`,
    ],
  }
  const body = JSON.stringify({ listId: 'x', email: 'a@x', fields: { x: 'x'.repeat(200_000) } })
  const warm = { headers: { authorization }, body }
  for (const [name, [head, piece]] of Object.entries(kinds)) {
    const fresh = await start(['serve'], env)
    const held = await heldBy(`http://127.0.0.1:${fresh.first}`, fresh, warm, head!, piece!)
    rows.push(below(`${uploads} uploads that never end, ${name}`, 'MB', held, 100))
    await fresh.stop()
  }
  return rows
}

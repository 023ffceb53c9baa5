import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSvc, svc, useOneApp } from './support/cli.ts'
import { freePort } from './support/daemon.ts'
import { cloneDatabase } from './support/database.ts'
import { openDnsServer } from './support/dns.ts'
import { eventually } from './support/eventually.ts'
import {
  blocksOf,
  goingOn,
  keyOf,
  left,
  openShell,
  readGuide,
  type Shell,
  setsOnly,
  stopsDaemons,
} from './support/readme.ts'
import { openReceiver } from './support/receiver.ts'

/*
 * Runs every command of the README and of the pages that continue it, in order, in a folder where the README's first
 * command has started `svc dev`. A command that is in none of these tables fails the test.
 */

const guide = await readGuide()
const blocks = blocksOf(guide, 'sh')

// The relay of a slow machine may not answer within 10 s; then the daemon's job finishes the email.
const sentOrPending = /status\s+(?:sent|pending)/

/** Part of the output of each command. The longest key that a command begins with applies. */
const printed: Record<string, RegExp> = {
  "printf '": /^$/,
  'npx svc contacts import': /created\s+1\n/,
  'npx svc send --project Welcome': sentOrPending,
  'npx svc deals create': /title\s+Annual plan\n/,
  'npx svc deals board': /Annual plan.*ada@example\.org/,
  'curl -s localhost:4800/api/v1/send': /"status":"sent"/,
  'npx svc sends list': /ada@example\.org\tsent/,
  'npx svc sends list --status pending': /^/,
  'npx svc contacts upsert': /email\s+bob@example\.org/,
  'npx svc deliveries list': /contact\.created\tdelivered/,
  'npx svc --help': /Usage: svc/,
  'curl -s localhost:4800/api/v1/webinars': /"status":"confirmed"/,
  'curl -s localhost:4800/api/v1/lists': /"name":"Customers"/,
  'curl -s localhost:4800/api/v1/contacts': /"email":"ada@example\.org"/,
  "curl -s 'localhost:4800/api/v1/events/sample": /"type":"deal\.created"/,
  'npx svc projects responses Welcome': /^/,
  'npx svc projects show Welcome': /^$/,
  'npx svc projects apply': /Welcome/,
  'npx svc broadcasts create': /status\s+draft/,
  'npx svc segments create': /name\s+New\n/,
  'npx svc topics create': /name\s+News\n/,
  'BROADCAST=': /^bct_\w+$/,
  'npx svc broadcasts test': sentOrPending,
  'npx svc broadcasts send': /name\s+October\n/,
  'npx svc broadcasts show': /"sent":5,"delivered":5/,
  'npx svc stats': /sent/i,
  'npx svc contacts show mei.tanaka@sample.example --timeline': /News for Mei/,
  'WEBINAR=': /^web_\w+$/,
  'npx svc webinars update': /title\s+Live demo/,
  'npx svc webinars cancel': /status\s+cancelled/,
  'npx svc forms create': /url\s+http/,
  'npx svc send --to ada@example.org': sentOrPending,
  'npx svc mail list': /ada@example\.org.*Hello/,
  'npx svc bookings list; npx svc payments list; npx svc suppressions list': /^$/,
  'npx svc webinars create': /title\s+Open house/,
  'npx svc accounts claim-slug': /slug\s+knots/,
  'npx svc courses create': /published\s+true/,
  'npx svc webhooks test': /→ 204 in \d+ ms/,
  'npx svc webhooks create': /whsec_/,
  'WEBHOOK=': /^whk_\w+$/,
  'npx svc webhooks rotate-secret': /whsec_/,
  'npx svc webhooks list': /deal\.created/,
  'npx svc deliveries list --status pending': /^/,
  'npx svc deliveries stats': /^whk_/m,
  '(umask 077; echo "whsec_': /^$/,
  'npx svc events send deal.created': /→ 200 in \d+ ms/,
  'npx svc deliveries replay': /replayed\s+0/,
  'npx svc deliveries replay --status exhausted --since 2d --rate 10 --dry-run': /Nothing was changed/,
  'npx svc clock advance 2d': /172800 s/,
  'npx svc lists create --name Advocates': /name\s+Advocates/,
  'npx svc journeys apply': /Won follow-up/,
  'npx svc deals move': /Won/,
  'npx svc journeys runs': /ada@example\.org.*waiting/,
  'sleep 3; npx svc journeys runs': /ada@example\.org.*completed/,
  'npx svc mail mode refuse': /refuse \(once|refuse \(1 time/,
  'npx svc send --to you@example.com --subject': /failed.*\n[\s\S]*you@example\.com\tfailed/,
  'npx svc --version': /^\d+\.\d+\.\d+\n$/,
  'npx svc db migrate': /pending\s+(\[\]|$)/m,
  'npx svc accounts create': /svc_live_/,
  'npx svc db backup': /rows\s+\d+/,
  'npx svc db status': /PostgreSQL|version\s+\d/,
  'npx svc contacts export --email': /^$/,
  'npx svc contacts erase bob@example.org --dry-run': /Nothing was changed/,
  'npx svc contacts erase bob@example.org --yes': /email\s+bob@example\.org/,
  'npx svc db restore': /rows\s+\d+/,
  'npx svc queues': /^deliveries\trunning/m,
  'npx svc queues resume': /state\s+running/,
  'npx svc status': /daemon \S+\s+\d\S*; API; jobs/,
  'npx svc jobs status': /^deliveries\t\d+@/m,
  'npx svc doctor': /^ok\tnode/m,
  'curl -s localhost:4800/healthz': /"ok"/,
  'curl -s localhost:4800/readyz': /"deliveries":"ok"/,
  'curl -s localhost:4800/metrics': /^svc_queue_depth\{queue="deliveries"\}/m,
  '(umask 077; openssl rand -base64 32 > new-secret)': /^$/,
  'npx svc secret rotate --secret-file new-secret --dry-run': /Nothing was changed/,
  'npx svc secret rotate --secret-file new-secret --yes': /resealed\s+[1-9]/,
  'npx svc contacts list --list Customers --json': /"contacts":\[/,
  'npx svc contacts list --list Customers --jsonl': /^\{"/,
  "npx svc contacts list --list Customers --where 'first_name = Ada and created < 30d' -q": /^ada@example\.org$/m,
  'npx svc contacts list --list Customers -q': /^ada@example\.org$|^\w+_\w+$/m,
  'npx svc deliveries list --fields id,status': /^dlv_\w+\tdelivered$/m,
  'SVC_API_KEY=$KEY npx svc api GET /lists': /"name":"Customers"/,
  'source <(svc completion bash)': /^$/,
}

useOneApp()

let folder: string
let env: Record<string, string>
let shell: Shell
let addContact: () => void
let dev: ReturnType<typeof startSvc>
let places: [string | RegExp, string][]
const ends: (() => unknown)[] = []

/** Commands that change nothing. */
const reads = /^(sleep \d+; )?npx svc \S+ (list|show|runs|stats|responses|status)\b/

/** Returns the output of a process once it matches. */
const saying = async (child: ReturnType<typeof startSvc>, expected: RegExp): Promise<string> => {
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => {
      text += part
    })
  await eventually(() => expected.test(text))
  return text
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-readme-'))
  // Like a checkout: if root runs this, the database's user needs access.
  await chmod(folder, 0o755)
  const [port, dns, receiver, server, empty] = await Promise.all([
    freePort(),
    openDnsServer(),
    openReceiver(),
    cloneDatabase(),
    cloneDatabase(),
  ])
  // The DNS server has no domains: the commands work without a network.
  env = { SVC_PORT: String(port), SVC_RATE_LIMIT: '0', SVC_DNS_SERVERS: dns.address }
  shell = await openShell(folder)
  ends.push(dns.close, receiver.close, server.drop, empty.drop, shell.close)
  const secretFile = join(folder, 'run-secret')
  await writeFile(secretFile, 'a secret that only tests use')
  await writeFile(join(folder, 'journey.yaml'), blocksOf(guide, 'yaml')[0]!.join('\n'))

  dev = startSvc({ env }, ['dev'], { cwd: folder })
  const text = await saying(dev, /Ctrl-C stops it/)
  const key = /svc_live_\w+/.exec(text)![0]
  const lists = `http://127.0.0.1:${port}/api/v1/lists`
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const known = (await (await fetch(lists, { headers })).json()) as { lists: { id: string }[] }
  const listId = known.lists[0]!.id
  let added = 0
  addContact = () => {
    const body = JSON.stringify({ listId, email: `a${++added}@example.org` })
    fetch(lists.replace('lists', 'contacts'), { method: 'POST', headers, body }).catch(() => {})
  }
  places = [
    [/svc_live_…/g, key],
    [/lst_…/g, listId],
    [/localhost:4800/g, `127.0.0.1:${port}`],
    [/http:\/\/localhost:3000/g, receiver.url],
    [/postgres:\/\/svc:…@db\/svc/g, server.url],
    [/postgres:\/\/…/g, empty.url],
    [/\/run\/secrets\/svc/g, secretFile],
    [/SVC_HOST=0\.0\.0\.0 SVC_PUBLIC_URL=\S+/g, 'SVC_PORT=0'],
  ]
})
afterAll(async () => {
  dev?.kill('SIGTERM')
  for (const end of ends) await end()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const placed = (line: string): string =>
  places.reduce((text, [written, here]) => text.replaceAll(written as RegExp, here), line)

/** Starts a command that runs until it is stopped, waits for its output, stops it and checks that it ends. */
const startAndStop = async (line: string, before: readonly string[]): Promise<void> => {
  const given = Object.fromEntries(
    before.flatMap((set) => [...set.matchAll(/(\w+)=(\S+)/g)]).map(([, name, value]) => [name, value]),
  )
  const child = startSvc({ env }, line.replace('npx svc ', '').split(' '), { env: given, cwd: folder })
  const ended = once(child, 'exit')
  // Commands with --follow print only what happens after their start.
  const happening = setInterval(addContact, 200)
  await saying(child, goingOn[line]!).finally(() => {
    clearInterval(happening)
    child.kill('SIGTERM')
  })
  expect([0, 130, 143], line).toContain((await ended)[0])
}

/** Runs the commands of a block one after the other, with its variables, then all that run until they are stopped at once. */
const runBlock = async (block: readonly string[], kept: string[]): Promise<void> => {
  const set = [...kept]
  for (const line of block) {
    if (keyOf(left, line)) continue
    const name = /^(\w+)=\$\(/.exec(line)?.[1]
    if (name) {
      const { status, text } = await shell.run(`${placed(line)}; printf '\n%s' "$${name}"`, env, set)
      expect(status, `${line}\n${text}`).toBe(0)
      const value = text.split('\n').at(-1)!
      expect(value, line).toMatch(printed[keyOf(printed, line)!]!)
      set.push(`${name}=${value}`)
    } else if (setsOnly.test(line)) {
      set.push(placed(line))
      if (line.startsWith('KEY=')) kept.push(placed(line))
    } else if (!Object.hasOwn(goingOn, line)) {
      const expected = printed[keyOf(printed, line)!]!
      const run = async () => {
        const { status, text } = await shell.run(placed(line), env, set)
        expect(status, `${line}\n${text}`).toBe(0)
        return text
      }
      const text = await run()
      // A reader, too, looks again at what a job does meanwhile.
      if (reads.test(line)) await eventually(async () => expected.test(text) || expected.test(await run()))
      else expect(text, line).toMatch(expected)
    }
  }
  await Promise.all(block.filter((line) => Object.hasOwn(goingOn, line)).map((line) => startAndStop(line, set)))
}

test('every command of the README and its pages is run or has a reason not to be, and the tables name no other', () => {
  const lines = blocks.flat().filter((line) => !/^KEY=|^export DATABASE_URL/.test(line))
  const used = lines.map(
    (line) => keyOf(left, line) ?? (Object.hasOwn(goingOn, line) ? line : (keyOf(printed, line) ?? `not run: ${line}`)),
  )
  const known = [printed, goingOn, left].flatMap(Object.keys)
  expect([...new Set(used)].toSorted()).toEqual(known.toSorted())
})

test('every command of the README and its pages works as it is written', async () => {
  const kept: string[] = []
  for (const block of blocks) if (!stopsDaemons(block)) await runBlock(block, kept)
  const ended = once(dev, 'exit')
  dev.kill('SIGTERM')
  await ended
  for (const block of blocks) if (stopsDaemons(block)) await runBlock(block, kept)
})

test('commands and flags that the text mentions are in the help', async () => {
  const mentioned = [...guide.replaceAll(/```[\s\S]+?```/g, '').matchAll(/`svc ([a-z][^`]*)`/g)].map(
    ([, words]) => words!,
  )
  expect(mentioned.length).toBeGreaterThan(20)
  for (const words of new Set(mentioned)) {
    const verbs = /^[a-z-]+( [a-z][a-z-]*(?= |$))*/.exec(
      words.replace(/ completion (bash|zsh|fish).*/, ' completion'),
    )![0]
    const { status, stdout } = await svc({ env: {} }, [...verbs.split(' '), '--help'])
    expect(status, words).toBe(0)
    for (const [flag] of words.matchAll(/--[a-z-]+/g)) expect(stdout, words).toContain(flag)
  }
})

test('every setting is in a table of docs/configure.md', async () => {
  const { json } = await svc({ env: {} }, ['config', '--json'])
  for (const { name } of json.settings as { name: string }[])
    expect(guide).toMatch(new RegExp(`^\\| .*\`${name}\``, 'm'))
})

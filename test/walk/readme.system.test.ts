import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { inherited, program, useOneApp } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'
import { cloneDatabase } from '../support/database.ts'
import { openDnsServer } from '../support/dns.ts'
import { needs } from '../support/needs.ts'
import { blocksOf, goingOn, keyOf, left, openHosted, readGuide, setsOnly, stopsDaemons } from '../support/readme.ts'
import { openReceiver } from '../support/receiver.ts'
import { limit } from '../support/slowness.ts'
import { openTerminal, type Terminal } from '../support/tmux.ts'

/*
 * The commands of the README and of the pages that continue it, as a newcomer types them after starting the checkout: in real
 * terminals of two sizes. In the smaller one each command is a process of its own. In the larger one only those are that use the
 * whole screen or run until they are stopped: it shows how wider output is laid out, and a process costs six times as much.
 * `SVC_WALK_DIR` names a folder that keeps the screens after the test.
 */

const kept = process.env.SVC_WALK_DIR
/** Exit code after Ctrl-C (docs/reference/cli.md#signals). */
const interrupted = 130
const sizes = [
  { columns: 80, rows: 24, isHosted: false },
  { columns: 110, rows: 30, isHosted: true },
]

const own = `${process.execPath} --no-warnings ${program}`
/** The beginnings of commands that are always a process of their own. */
const inOwnProcess = ['deals board', 'stats', ...Object.keys(goingOn).map((line) => line.replace('npx svc ', ''))]

/** Stand-ins for npm, which would take a second for each command. `hosted` is the program that runs the other commands. */
const standIns = (hosted: string) => {
  const svc = `case "$*" in ${inOwnProcess.map((words) => `"${words}"*`).join('|')}) exec ${own} "$@";; esac\nexec ${hosted} "$@"\n`
  return {
    npx: `#!/bin/sh\nshift\nexport npm_command=exec\n${svc}`,
    npm: `#!/bin/sh\n[ "$1" = ci ] && exit\nexport npm_command=start\nexec ${own} dev\n`,
    svc: `#!/bin/sh\n${svc}`,
  }
}

/** Returns defects of a screen: a word that was cut, or an error without a next step. */
const faultsOf = (text: string): string[] => {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    // The last six characters of an id are enough to recognise and to type it.
    if (/…(?![0-9a-z]{6}(\s|$))/.test(line)) return [`cut: ${line}`]
    if (/Something went wrong/.test(line)) return [line]
    const rest = lines.slice(at + 1, at + 5).join('\n')
    return line.startsWith('error: ') && !/^ {2}next: /m.test(rest) ? [`unexplained: ${line}`] : []
  })
}

/** Answers yes to each question. */
const answering = () => {
  let answered = 0
  return (text: string): string | null => {
    const asked = text.match(/Go on\? \(y\/N\)/g)?.length ?? 0
    if (asked <= answered) return null
    answered = asked
    return 'y Enter'
  }
}

const walk = async ({ columns, rows, isHosted }: (typeof sizes)[number], port: number): Promise<string[]> => {
  const name = `${columns}x${rows}`
  const folder = await mkdtemp(join(tmpdir(), `svc-walk-${name}-`))
  await chmod(folder, 0o755)
  const screens = kept ? join(kept, name) : join(folder, 'screens')
  const bin = join(folder, 'bin')
  await Promise.all([mkdir(screens, { recursive: true }), mkdir(bin)])
  const hosted = join(folder, 'hosted')
  const closeHosted = await openHosted(hosted, ['svc'])
  for (const [file, text] of Object.entries(standIns(isHosted ? join(hosted, 'svc') : own))) {
    await writeFile(join(bin, file), text)
    await chmod(join(bin, file), 0o755)
  }
  const guide = await readGuide()
  await writeFile(join(folder, 'journey.yaml'), blocksOf(guide, 'yaml')[0]!.join('\n'))
  await writeFile(join(folder, 'run-secret'), 'a secret that only tests use')
  const [dns, receiver, server, empty] = await Promise.all([
    openDnsServer(),
    openReceiver(),
    cloneDatabase(),
    cloneDatabase(),
  ])
  const env = {
    ...inherited(),
    PATH: `${bin}:${process.env.PATH}`,
    HOME: folder,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    SVC_PORT: String(port),
    SVC_DNS_SERVERS: dns.address,
  }
  const faults: string[] = []
  let nth = 0
  const keep = async (line: string, text: string) => {
    const file = `${String(++nth).padStart(2, '0')}-${line.replace(/[^\w]+/g, '-').slice(0, 60)}.txt`
    await writeFile(join(screens, file), `${text}\n`)
    faults.push(...faultsOf(text).map((fault) => `${name} ${line}: ${fault}`))
  }
  const terminals: Terminal[] = []
  const open = async (of: string, more: Record<string, string> = {}) => {
    const socket = `svc-walk-${process.pid}-${name}-${of}`
    const terminal = await openTerminal(socket, { columns, rows }, folder, { ...env, ...more })
    terminals.push(terminal)
    return terminal
  }
  try {
    const first = await open('first')
    await keep('npm start', await first.begin('npm ci && npm start', /Ctrl-C stops it/))
    const { key } = JSON.parse(await readFile(join(folder, '.svc/demo.json'), 'utf8'))
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/lists`, { headers })
    const { lists } = (await answer.json()) as { lists: { id: string }[] }
    const places: [RegExp, string][] = [
      [/svc_live_…/g, key],
      [/lst_…/g, lists[0]!.id],
      [/localhost:4800/g, `127.0.0.1:${port}`],
      [/http:\/\/localhost:3000/g, receiver.url],
      [/postgres:\/\/svc:…@db\/svc/g, server.url],
      [/postgres:\/\/…/g, empty.url],
      [/\/run\/secrets\/svc/g, join(folder, 'run-secret')],
      [/SVC_HOST=0\.0\.0\.0 SVC_PUBLIC_URL=\S+/g, 'SVC_PORT=0'],
    ]
    const placed = (line: string) => places.reduce((text, [written, here]) => text.replaceAll(written, here), line)
    const type = async (terminal: Terminal, line: string) => {
      const { status, text } = await terminal.type(placed(line), answering())
      if (status !== 0) faults.push(`${name} ${line}: exit ${status}\n${text}`)
      if (!setsOnly.test(line)) await keep(line, text)
    }
    const main = await open('main')
    let settings = 0
    const block = async (lines: readonly string[]) => {
      // Exported variables must not reach the commands of other blocks.
      const own = lines.some((line) => line.startsWith('export ')) ? await open(`settings-${++settings}`) : main
      for (const line of lines) {
        if (keyOf(left, line)) continue
        if (!Object.hasOwn(goingOn, line)) {
          await type(own, line)
          continue
        }
        // Commands with --follow print only what happens after their start.
        const upsert = { listId: lists[0]!.id, email: `a${nth}@example.org` }
        const timer = setInterval(() => {
          const body = JSON.stringify({ ...upsert, email: `a${nth}-${Date.now()}@example.org` })
          const type = { 'content-type': 'application/json' }
          fetch(`http://127.0.0.1:${port}/api/v1/contacts`, {
            method: 'POST',
            headers: { ...headers, ...type },
            body,
          }).catch(() => {})
        }, 1100)
        const text = await own.begin(line, goingOn[line]!).finally(() => clearInterval(timer))
        await keep(line, text)
        const { status } = await own.interrupt()
        if (status !== interrupted) faults.push(`${name} ${line}: Ctrl-C exits ${status}`)
      }
    }
    const blocks = blocksOf(guide, 'sh')
    for (const lines of blocks) if (!stopsDaemons(lines)) await block(lines)
    const { status, text } = await first.interrupt()
    await keep('svc dev, after Ctrl-C', text)
    if (status !== interrupted) faults.push(`${name} svc dev: Ctrl-C exits ${status}`)
    for (const lines of blocks) if (stopsDaemons(lines)) await block(lines)
    return faults
  } finally {
    for (const terminal of terminals) await terminal.close()
    closeHosted()
    await Promise.all([dns.close(), receiver.close(), server.drop(), empty.drop()])
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

useOneApp()

describe('the README and its pages in a terminal', needs('tmux'), () => {
  // Each command has a deadline of its own; on a busy machine all of them together took five minutes.
  test('no command fails, nothing is cut, and each error has a next step, at 80x24 and 110x30', {
    timeout: limit(900_000),
  }, async () => {
    // `svc dev` also uses the two ports after its own.
    const port = await freePort()
    const walks = sizes.map((size, nth) => walk(size, port + 5 * nth))
    // Wait for both, so that each closes its terminals.
    await Promise.allSettled(walks)
    expect((await Promise.all(walks)).flat()).toEqual([])
  })
})

import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { spawnInTest } from './children.ts'
import { inherited, svc } from './cli.ts'

/** The pages whose commands are tested, in the order in which a reader may run them. */
const pages = [
  'README.md',
  ...['cli', 'webhooks', 'configure', 'install', 'operate', 'upgrade', 'hardening', 'pgbouncer', 'client', 'mcp'].map(
    (page) => `docs/${page}.md`,
  ),
]

/** The README and the pages that continue it, as one text. */
export const readGuide = async (): Promise<string> => {
  const root = join(import.meta.dirname, '../..')
  return (await Promise.all(pages.map((page) => readFile(join(root, page), 'utf8')))).join('\n')
}

/** Returns the contents of the code blocks of one language: for each block one command or line each, without its remark. */
export const blocksOf = (readme: string, language: string): string[][] =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\`\`\``, 'g'))].map(([, text]) =>
    text!
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.replace(/\s{2,}#.*$/, ''))
      .filter(Boolean),
  )

/** Commands that run until they are stopped, and the output to wait for. */
export const goingOn: Record<string, RegExp> = {
  'npx svc listen': /Ready/,
  'npx svc serve': /ready/,
  'npx svc status --watch': /deliveries/,
  'npx svc deliveries list --follow': /contact\.created/,
  'npx svc events list --follow': /contact\.created/,
}

/** Commands that no test can run, and the reason. */
export const left: Record<string, string> = {
  'git clone ': 'the tests run in a checkout',
  'npm ci && npm start': 'the tests start svc dev themselves, as npm start does',
  'npm ci && npm test': 'it runs this test',
  'npm install ./svcd-engagement': '.ci/packed packs, installs and runs it',
  'useradd ': 'it changes the machine',
  'mkdir -p /opt/svc': 'it changes the machine; .ci/packed installs the package',
  '/opt/svc-next/': 'there is no newer package; svc db migrate is run',
  'mv /opt/svc': 'it changes the machine',
  '(umask 077; openssl rand -base64 32 > /etc/svc/secret)': 'it changes the machine; a test runs it with another file',
  "printf 'SVC_DATA_DIR=/var/lib": 'it changes the machine',
  'cp node_modules/svcd-engagement/docs/deploy/svc.service': 'it changes the machine; systemd.test.ts checks the unit',
  'systemctl ': 'it changes the machine',
  'export $(cat /etc/svc/environment)': 'there is no such daemon',
  '/opt/svc/node_modules/.bin/svc status': 'there is no such daemon; svc status is run',
  'WEBHOOK_SECRET=$(cat hook-secret) node receiver.mjs': 'webhooks/receiving.system.test.ts runs it',
  'npm pack': '.ci/packed runs it',
  "(umask 077; printf 'POSTGRES_PASSWORD": 'deploy.test.ts compares it with compose.yaml',
  'docker ': 'there is no Docker; deploy.test.ts checks the files',
}

/** Returns the longest key of a table that is a prefix of a command. */
export const keyOf = (table: object, line: string): string | undefined =>
  Object.keys(table)
    .filter((key) => line.startsWith(key))
    .toSorted((a, b) => b.length - a.length)[0]

export const setsOnly = /^(export |[A-Z]+=)/
export const stopsDaemons = (block: readonly string[]) => block.some((line) => line.includes('secret rotate'))

export interface ShellRan {
  status: number | null
  /** stdout and stderr together. */
  text: string
}

export interface Shell {
  /** Runs a line of bash, after `before`, in the folder of the shell. */
  run(line: string, env: Record<string, string>, before?: readonly string[]): Promise<ShellRan>
  close(): void
}

/**
 * It sends its arguments, folder, size of the terminal and environment to a process that runs commands, and prints its answer. A start of
 * Node would take four times as much CPU time.
 */
const shim = (port: number) => `#!/bin/bash
[ "\${0##*/}" = npx ] && shift
exec 3<>/dev/tcp/127.0.0.1/${port}
size=
[ -t 1 ] && size=$(stty size </dev/tty)
{ printf '%s\\0' "$#" "$@" "$PWD" "$size"; env -0; printf '\\0'; } >&3
for part in status out err; do IFS= read -r -d '' $part <&3; done
printf '%s' "$out"
printf '%s' "$err" >&2
exit $status
`

/** Returns what a shim sent, or null if it has not sent all of it. */
const parseSent = (sent: string) => {
  const parts = sent.split('\0').slice(0, -1)
  const count = Number(parts[0])
  const end = parts.indexOf('', count + 3)
  if (end < 0) return null
  const [cwd, size] = parts.slice(count + 1) as [string, string]
  const [rows, columns] = size.split(' ').map(Number) as [number, number]
  const env = parts.slice(count + 3, end).map((one) => [one.split('=', 1)[0], one.slice(one.indexOf('=') + 1)])
  const args = parts.slice(1, count + 1)
  return {
    args,
    options: { cwd, env: Object.fromEntries(env), ...(size && { tty: { columns, rows }, saysYes: true }) },
  }
}

const answer = async (socket: Socket): Promise<void> => {
  let sent = ''
  for await (const part of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    sent += part
    if (parseSent(sent)) break
  }
  const { args, options } = parseSent(sent)!
  const { status, stdout, stderr, text } = await svc({ env: {} }, args, options)
  socket.end([status, ...('tty' in options ? [text, ''] : [stdout, stderr]), ''].join('\0'))
}

/**
 * Writes programs into the new folder `bin` that run `svc` in a process that has already loaded the modules of the CLI. On a terminal it
 * has the terminal's size, and the answer is yes if it asks whether to go on. Returns the function that closes their server.
 */
export const openHosted = async (bin: string, programs: readonly string[]): Promise<() => void> => {
  const server = createServer((opened) => void answer(opened)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await mkdir(bin)
  for (const name of programs) {
    await writeFile(join(bin, name), shim((server.address() as AddressInfo).port))
    await chmod(join(bin, name), 0o755)
  }
  return () => server.close()
}

/** Opens a real bash in `folder`. Its `svc` and `npx svc` run in a process that has already loaded the modules of the CLI. */
export const openShell = async (folder: string): Promise<Shell> => {
  const bin = join(folder, 'bin')
  const close = await openHosted(bin, ['svc', 'npx'])
  const run: Shell['run'] = (line, env, before = []) =>
    new Promise((resolve, reject) => {
      // With a socket as its standard input bash would read its rc files.
      const child = spawnInTest('bash', ['--norc', '-euo', 'pipefail', '-c', [...before, line].join('\n')], {
        cwd: folder,
        env: { ...inherited(), PATH: `${bin}:${process.env.PATH}`, HOME: folder, ...env },
      })
      child.stdin.end()
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (part) => {
          text += part
        })
      child.on('error', reject)
      child.on('close', (status) => resolve({ status, text }))
    })
  return { run, close }
}

import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { inherited, program, svc } from '../support/cli.ts'
import { cloneDatabase } from '../support/database.ts'
import { blocksOf } from '../support/readme.ts'

/* Runs the commands of docs/recipes/move-database.md and backup-to-s3.md, as they are written, in a folder with an embedded database. */

const docs = join(import.meta.dirname, '../../docs/recipes')
const blocks = async (page: string): Promise<string[]> =>
  blocksOf(await readFile(join(docs, `${page}.md`), 'utf8'), 'sh').map((lines) => lines.join('\n'))

let folder: string
let bin: string
const ends: (() => Promise<unknown>)[] = []

/** A client of object storage whose buckets are folders. */
const storage = `#!/usr/bin/env bash
set -euo pipefail
[ "$1" = s3 ]
place() { case $1 in s3://*) echo "$STORAGE/\${1#s3://}" ;; *) echo "$1" ;; esac; }
from=$(place "$3") to=$(place "$4")
[ "$to" = - ] || mkdir -p "$(dirname "$to")"
case "$2 $from $to" in
  "cp - "*) cat >"$to" ;;
  cp*" -") cat "$from" ;;
  mv*) mv "$from" "$to" ;;
  *) exit 2 ;;
esac
`

const script = async (name: string, text: string) => {
  await writeFile(join(bin, name), text)
  await chmod(join(bin, name), 0o755)
}

/** Runs lines of bash in the folder; returns what they print. */
const bash = (lines: string, env: Record<string, string> = {}): Promise<{ status: number; text: string }> =>
  new Promise((resolve) => {
    const given = { ...inherited(), ...env, PATH: `${bin}${delimiter}${process.env.PATH}`, HOME: folder }
    execFile('bash', ['-euc', lines], { cwd: folder, env: given }, (error, stdout, stderr) =>
      resolve({ status: error ? Number(error.code) : 0, text: stdout + stderr }),
    )
  })

/** An empty database of a server, without any table. */
const emptyServer = async (): Promise<string> => {
  const { url, drop } = await cloneDatabase()
  ends.push(drop)
  const database = openDatabase(url, { max: 1 })
  for (const statement of ['drop schema public cascade', 'create schema public']) await database.sql(statement)
  await database.close()
  return url
}

const contactsIn = async (env: Record<string, string>): Promise<string[]> => {
  const { json } = await svc({ env }, ['contacts', 'list', '--json'], { cwd: folder })
  return json.contacts.map(({ email }: { email: string }) => email)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-move-'))
  // If root runs the tests, the server runs as another user.
  await chmod(folder, 0o755)
  bin = join(folder, 'bin')
  await mkdir(bin)
  await script('aws', storage)
  const run = async (...args: string[]) => {
    const { status, stderr } = await svc({ env: { SVC_DATA_DIR: join(folder, '.svc') } }, args)
    expect(status, stderr).toBe(0)
  }
  await run('db', 'migrate')
  await run('accounts', 'create', '--name', 'Shop')
  await run('lists', 'create', '--name', 'Customers')
  await run('contacts', 'upsert', '--list', 'Customers', '--email', 'ada@example.org')
  // Its DKIM key is sealed with the secret.
  await run('domains', 'add', 'shop.example')
})
beforeEach(() => script('npx', `#!/bin/sh\nshift\nexec '${process.execPath}' '${program}' "$@"\n`))
afterAll(async () => {
  for (const data of ['.svc', 'new', 'machine/.svc'])
    await svc({ env: { SVC_DATA_DIR: join(folder, data) } }, ['db', 'stop'])
  for (const end of ends) await end()
  await rm(folder, { recursive: true, force: true })
})

test('an installation moves to another machine', async () => {
  const [out, into] = await blocks('move-database')
  const machine = join(folder, 'machine')
  await mkdir(machine)
  await script('scp', `#!/bin/sh\ncp -p "$2" "$3" "$4" '${machine}'\n`)
  const moved = await bash(`${out}\ncd '${machine}'\n${into}`)
  expect(moved.text).toContain('opens the stored credentials (1 checked)')
  expect(moved.text).not.toContain('no list of erasures')
  expect(moved.text).toContain('svc queues resume')
  expect(await contactsIn({ SVC_DATA_DIR: join(machine, '.svc') })).toEqual(['ada@example.org'])
  await rm(join(folder, 'move.backup'))
})

test('an installation moves to a server and back', async () => {
  const [, , there, , back] = await blocks('move-database')
  const url = await emptyServer()
  const moved = await bash(there!.replace('postgres://svc:…@db/svc', url))
  expect(moved.text).toContain('Nothing was changed')
  expect(moved.text).toContain('opens the stored credentials (1 checked)')
  expect(moved.text).not.toContain('no list of erasures')
  const env = { DATABASE_URL: url, SVC_SECRET_FILE: 'svc-secret' }
  expect(await contactsIn(env)).toEqual(['ada@example.org'])

  await svc({ env }, ['contacts', 'upsert', '--list', 'Customers', '--email', 'bob@example.org'], { cwd: folder })
  const returned = await bash(back!, env)
  expect(returned.status, returned.text).toBe(0)
  expect(await contactsIn({ SVC_DATA_DIR: join(folder, 'new') })).toEqual(['ada@example.org', 'bob@example.org'])
})

test('it moves by a pipe, without a file', async () => {
  const [, , , piped] = await blocks('move-database')
  const url = await emptyServer()
  const moved = await bash(piped!.replace('postgres://svc:…@db/svc', url))
  expect(moved.status, moved.text).toBe(0)
  expect(await contactsIn({ DATABASE_URL: url, SVC_SECRET_FILE: '.svc/secret' })).toEqual(['ada@example.org'])
})

test('a backup goes to object storage and is restored from it; one that ends early gets no name', async () => {
  const [write, restore] = await blocks('backup-to-s3')
  const stored = join(folder, 'storage')
  const env = { BUCKET: 'backups', STORAGE: stored }
  const written = await bash(write!, env)
  expect(written.status, written.text).toBe(0)
  const [name] = await readdir(join(stored, 'backups/svc'))
  expect(name).toMatch(/^\d{4}-\d\d-\d\dT\d{6}Z\.backup$/)

  const url = await emptyServer()
  const target = { ...env, NAME: `svc/${name}`, DATABASE_URL: url, SVC_SECRET_FILE: '.svc/secret' }
  const restored = await bash(restore!, target)
  expect(restored.status, restored.text).toBe(0)
  expect(await contactsIn(target)).toEqual(['ada@example.org'])

  await script('npx', `#!/bin/sh\nhead -c 1000 '${join(stored, 'backups/svc', name!)}'\nexit 7\n`)
  const failed = await bash(write!, env)
  expect(failed.status).toBe(7)
  const left = await readdir(join(stored, 'backups/svc'))
  expect(left.filter((one) => one.endsWith('.backup'))).toEqual([name])
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { svc, useOneApp } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish } from '../support/furnish.ts'
import { lists, otherTables } from '../support/lists.ts'
import { calls, commandOf, leaves, placeholder, takes } from '../support/references.ts'

/* Finds the commands that print a table, so that test/cli/lists.test.ts looks at all of them. */

const dns = useDnsServer()
const t = useApp(() => ({
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
}))
useOneApp()

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tables-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Commands that don't end, and those of the installation and of its development. */
const notWalked = /^(api|clock|completion|db|dev|jobs run|listen|mail|mcp|secret|serve)( |$)/

/** Whether a screen begins with a table. */
const isTable = (screen: string): boolean => {
  const [first = ''] = screen.split('\n')
  const headings = first.trim().split(/ {2,}/)
  return headings.length > 1 && headings.every((heading) => /^[A-Z][A-Z0-9 _-]*$/.test(heading))
}

test('every command that prints a table is one of the lists', async () => {
  const account = await t.account({ name: 'Harbour' })
  const things = await furnish(t, account, folder)
  const found: string[] = []
  for (const name of leaves.keys()) {
    if (notWalked.test(name)) continue
    const call = calls.find((words) => commandOf(words) === name) ?? name.split(' ')
    const args = call.map((word) => word.replace(placeholder, (_, noun: string) => things[noun]?.[0] ?? noun))
    const dry = takes(call, '--dry-run') ? ['--dry-run'] : []
    const ran = await svc(t, [...args, ...dry, '--account', account.id], { tty: { columns: 80 }, env: { CI: '1' } })
    const [screen, remarks] = [ran.stdout, ran.stderr].map((text) =>
      stripVTControlCharacters(text).replaceAll('\r', ''),
    )
    if (isTable(screen!) || /^No [a-z ]+\.$/m.test(remarks!)) found.push(name)
  }
  expect(found.length).toBeGreaterThan(40)
  expect(found.filter((name) => !lists.has(name) && !otherTables.includes(name))).toEqual([])
})

import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { type Candidate, complete } from '../../src/cli/complete.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { closedValues } from '../../src/tools/closed-values.ts'
import { loadCommands } from '../../src/tools/commands.ts'
import { svc } from '../support/cli.ts'

const program = buildProgram(await loadCommands(), () => Promise.reject(new Error('not opened here')))

const values = (...words: string[]) => complete(program, words, closedValues).map(({ value }: Candidate) => value)

test('each place completes commands, verbs, flags, values of closed sets or files', () => {
  expect(values('del')).toEqual(['deliveries'])
  expect(values('')).toEqual(program.commands.map((command) => command.name()))
  expect(values('deliveries', 're')).toEqual(['replay'])
  expect(values('deliveries', 'list', '--st')).toEqual(['--status'])
  expect(values('deliveries', '--st')).toEqual(['--status'])
  expect(values('deliveries', 'list', '--status', '')).toEqual(['pending', 'delivered', 'exhausted', 'cancelled'])
  expect(values('--account', 'deals', 'deliveries', '--status', 'e')).toEqual(['exhausted'])
  expect(values('sends', 'list', '--status=s')).toEqual(['--status=sent', '--status=suppressed'])
  expect(values('sends', 'list', '--status', '=', 's')).toEqual(['sent', 'suppressed'])
  expect(values('webhooks', 'create', '--events', 'deal.created,contact.c')).toEqual(['deal.created,contact.created'])
  expect(values('events', 'send', 'book')).toEqual(['booking.created', 'booking.cancelled'])
  expect(values('payments', 'provider', '')).toEqual(['set', 'show', 'unset'])
  expect(values('contacts', 'import', '')).toEqual([':files'])
  expect(values('relay', 'set', '--password-file', 'x')).toEqual([':files'])
  expect(values('accounts', 'create', '--name', '')).toEqual([])
  expect(values('accounts', 'create', '--j')).toEqual(['--json', '--jsonl'])
})

test('each closed set belongs to an existing flag or argument', () => {
  for (const name of Object.keys(closedValues)) {
    const parts = name.split(' ')
    const last = parts.pop()!
    const of = parts.reduce<Command | undefined>((at, part) => at?.commands.find((one) => one.name() === part), program)
    const known = [
      ...(of?.options ?? []).map(({ long }) => long),
      ...(of?.registeredArguments ?? []).map((a) => `<${a.name()}>`),
    ]
    expect(known, name).toContain(last)
  }
})

test('an unknown shell is a usage error that names the known ones', async () => {
  const ran = await svc({ env: {} }, ['completion', 'tcsh'])
  expect(ran).toMatchObject({ status: 2, stdout: '' })
  expect(ran.stderr).toContain('bash, zsh, fish')
})

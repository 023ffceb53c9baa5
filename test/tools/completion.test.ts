import { expect, test } from 'vitest'
import { type Candidate, complete } from '../../src/cli/complete.ts'
import { closedPlaces, closedSetAt } from '../../src/cli/define.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { loadCommands } from '../../src/tools/commands.ts'
import { svc } from '../support/cli.ts'

const program = buildProgram(await loadCommands(), () => Promise.reject(new Error('not opened here')))

const values = async (...words: string[]) => (await complete(program, words)).map(({ value }: Candidate) => value)

test('each place completes commands, verbs, flags, values of closed sets or files', async () => {
  expect(await values('del')).toEqual(['deliveries'])
  expect(await values('')).toEqual(program.commands.map((command) => command.name()))
  expect(await values('deliveries', 're')).toEqual(['replay'])
  expect(await values('deliveries', 'list', '--st')).toEqual(['--status'])
  expect(await values('deliveries', '--st')).toEqual(['--status'])
  expect(await values('deliveries', 'list', '--status', '')).toEqual(['pending', 'delivered', 'exhausted', 'cancelled'])
  expect(await values('--account', 'deals', 'deliveries', '--status', 'e')).toEqual(['exhausted'])
  expect(await values('sends', 'list', '--status=s')).toEqual(['--status=sent', '--status=suppressed'])
  expect(await values('sends', 'list', '--status', '=', 's')).toEqual(['sent', 'suppressed'])
  expect(await values('webhooks', 'create', '--events', 'deal.created,contact.c')).toEqual([
    'deal.created,contact.created',
  ])
  expect(await values('events', 'send', 'book')).toEqual(['booking.created', 'booking.cancelled'])
  expect(await values('payments', 'provider', '')).toEqual(['set', 'show', 'unset'])
  expect(await values('contacts', 'import', '')).toEqual([':files'])
  // What only the scripts call is not in the help either.
  expect(await values('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  expect(await values('relay', 'set', '--password-file', 'x')).toEqual([':files'])
  expect(await values('accounts', 'create', '--name', '')).toEqual([])
  expect(await values('accounts', 'create', '--j')).toEqual(['--json', '--jsonl'])
  expect(await values('help', 'deli')).toEqual(['deliveries'])
  expect(await values('help', 'deliveries', 're')).toEqual(['replay'])
  expect(await values('deliveries', 'help', 're')).toEqual(['replay'])
  expect(await values('help', 'events', 'send', '')).toEqual([])
})

test('each closed set has several different values', async () => {
  expect(closedPlaces().length).toBeGreaterThan(40)
  for (const name of closedPlaces()) {
    const [place, ...path] = name.split(' ').reverse()
    const values = await closedSetAt(path.reverse().join(' '), place!)!.load()
    expect(values.length, name).toBeGreaterThan(1)
    expect(new Set(values).size, name).toBe(values.length)
  }
})

test('an unknown shell is a usage error that names the known ones', async () => {
  const ran = await svc({ env: {} }, ['completion', 'tcsh'])
  expect(ran).toMatchObject({ status: 2, stdout: '' })
  expect(ran.stderr).toContain('bash, zsh, fish')
})

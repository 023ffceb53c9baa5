import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { svc, useOneApp } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'
import { sendingAccount } from '../support/messages.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })

test('a question with --no-color has none, although an earlier one in the same process had', async () => {
  // A command that is not interrupted keeps its process for the next one.
  const create = async (name: string, ...flags: string[]) => {
    const steps = [['Unique name', `${name}\r`] as const, ['Plan', '\r'] as const]
    return (await svc(t, ['accounts', 'create', ...flags], { tty: {}, steps })).text
  }
  expect(await create('Zebra')).toContain('\u001b[36m')
  expect(await create('Yak', '--no-color')).toMatch(/^\? Unique name of the account:/)
})

/** The sessions of commands. */
const sessions = () =>
  t.app.sql(`select pid from pg_stat_activity where datname = current_database() and application_name like 'svc cli %'`)

describe('with one app', () => {
  useOneApp()

  test('a command uses the session of the one before, which ends with a command that works in the background', async () => {
    const { id } = await sendingAccount(t)
    const run = async (...args: string[]) => (await svc(t, [...args, '--account', id])).status
    expect(await run('lists', 'list')).toBe(0)
    const kept = await sessions()
    expect(kept).toHaveLength(1)
    expect(await run('keys', 'list')).toBe(0)
    expect(await sessions()).toEqual(kept)
    // No relay answers.
    expect(await run('send', '--to', 'ada@people.example', '--subject', 'Hello', '--text', 'Hello')).toBe(1)
    await eventually(async () => (await sessions()).length === 0)
    expect(await run('lists', 'list')).toBe(0)
    expect(await sessions()).toHaveLength(1)
  })
})

test('without it, a command leaves no session', async () => {
  await svc(t, ['accounts', 'list'])
  await eventually(async () => (await sessions()).length === 0)
})

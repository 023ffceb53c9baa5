import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'

const t = useApp()

test('a question with --no-color has none, although an earlier one in the same process had', async () => {
  // A command that is not interrupted keeps its process for the next one.
  const create = async (name: string, ...flags: string[]) => {
    const steps = [['Unique name', `${name}\r`] as const, ['Plan', '\r'] as const]
    return (await svc(t, ['accounts', 'create', ...flags], { tty: {}, steps })).text
  }
  expect(await create('Zebra')).toContain('\u001b[36m')
  expect(await create('Yak', '--no-color')).toMatch(/^\? Unique name of the account:/)
})

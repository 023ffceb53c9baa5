import { once } from 'node:events'
import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { startSvc, svc } from '../support/cli.ts'

const t = useApp()

test('an export ends silently when its reader closes the pipe', async () => {
  await t.account()
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
  let csv = 'email,note\n'
  for (let i = 0; i < 5000; i++) csv += `p${i}@example.org,${'x'.repeat(100)}\n`
  await svc(t, ['contacts', 'import', '-', '--list', 'A', '--create-list'], { stdin: csv })
  const child = startSvc(t, ['contacts', 'export', '--list', 'A'])
  let log = ''
  child.stderr.on('data', (text) => {
    log += text
  })
  const ended = once(child, 'close')
  await once(child.stdout, 'data')
  child.stdout.destroy()
  expect([(await ended)[0], log]).toEqual([0, ''])
})

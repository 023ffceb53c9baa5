import { expect, test } from 'vitest'
import { useAccount, useApp } from '../support/app.ts'
import { startSvc } from '../support/cli.ts'
import { emitEvents, eventually, subscribe } from '../support/deliveries.ts'

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const account = useAccount(t, { name: 'Only' })

test('a stderr without a reader changes nothing', async () => {
  const child = startSvc(t, ['keys', 'create'])
  child.stderr.destroy()
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(2)
})

test('--follow prints new events, into a pipe as well, until Ctrl-C, which is exit 130', async () => {
  await subscribe(t.app, account.id, 'http://127.0.0.1:1/hook')
  const following = (['deliveries', 'events'] as const).map((noun) => {
    const child = startSvc(t, [noun, 'list', '--follow', '--jsonl'])
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    return {
      child,
      rows: () =>
        text
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
    }
  })
  await eventually(async () => {
    await emitEvents(t.app, account.id)
    return following.every(({ rows }) => rows().length > 0)
  })
  const emitted = await t.events(account.id)
  const [deliveries, events] = following
  await eventually(
    () => events!.rows().at(-1).id === emitted.at(-1)!.id && deliveries!.rows().at(-1).eventId === emitted.at(-1)!.id,
  )
  expect(new Set(events!.rows().map(({ id }) => id)).size).toBe(events!.rows().length)
  expect(events!.rows()).toEqual(emitted.slice(-events!.rows().length))
  const ends = following.map(({ child }) => new Promise((resolve) => child.on('close', resolve)))
  deliveries!.child.kill('SIGINT')
  // A reader that closes the pipe ends it as well, at the next output.
  events!.child.stdout.destroy()
  await emitEvents(t.app, account.id)
  expect(await Promise.all(ends)).toEqual([130, 0])
})

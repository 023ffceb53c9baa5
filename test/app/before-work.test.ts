import { expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { useAccount, useApp } from '../support/app.ts'

const t = useApp()
const account = useAccount(t)

test('what a daemon loads before a unit of work is loaded before its transaction begins', async () => {
  const steps: string[] = []
  const app = await openApp(readConfig(t.env), {
    schema: 'ignore',
    connections: 1,
    // Waits forever if the transaction has taken the only connection.
    beforeWork: async () => {
      await app.sql('select 1')
      steps.push('loaded')
    },
  })
  try {
    await app.work(account.id, 'job:test', async () => void steps.push('work'))
    await app.operate('job:test', async () => void steps.push('operation'))
    expect(steps).toEqual(['loaded', 'work', 'loaded', 'operation'])
  } finally {
    await app.close()
  }
})

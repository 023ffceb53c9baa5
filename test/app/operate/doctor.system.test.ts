import { expect, test } from 'vitest'
import { useApp } from '../../support/app.ts'
import { svcProcess } from '../../support/cli.ts'
import { skewedBy } from '../../support/skew.ts'

const t = useApp()

test('svc doctor fails on a machine whose clock is two minutes off', async () => {
  const { status, json } = await svcProcess(t, ['doctor', '--json'], { env: { SVC_PORT: '0', ...skewedBy(120_000) } })
  expect(status).toBe(1)
  expect(json.checks).toContainEqual({ name: 'clock', status: 'fail', message: expect.stringContaining('ahead of') })
})

import { zstdDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { useApp } from '../../support/app.ts'
import { startSvc, svcProcess } from '../../support/cli.ts'

const t = useApp()

test('standard output has only the backup file, and later commands work', async () => {
  const parts: Buffer[] = []
  const child = startSvc(t, ['db', 'backup', '-'])
  child.stdout.on('data', (part) => parts.push(part))
  const status = await new Promise((resolve) => child.once('close', resolve))
  expect(status).toBe(0)
  expect(zstdDecompressSync(Buffer.concat(parts)).toString('latin1', 5, 30)).toContain('svc backup 1')
  expect((await svcProcess(t, ['db', 'status', '--json'])).status).toBe(0)
})

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

test('a backup whose reader ends early fails; a list whose reader ends early does not', async () => {
  // More than a pipe holds.
  await t.app.sql(`create table noise as select md5(i::text) as text from generate_series(1, 100000) as i`)
  const untilClosed = (...args: string[]) =>
    new Promise((resolve) => {
      const child = startSvc(t, args)
      let stderr = ''
      child.stderr.on('data', (part) => {
        stderr += part
      })
      child.stdout.once('data', () => child.stdout.destroy())
      child.once('close', (status) => resolve({ status, stderr }))
    })
  expect(await untilClosed('db', 'backup', '-')).toEqual({
    status: 1,
    stderr: expect.stringMatching(
      /error: Standard output was closed before the backup was complete\n {2}next: svc db backup <file>\n$/,
    ),
  })
  expect(await untilClosed('plans', 'list')).toEqual({ status: 0, stderr: '' })
})

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { pager } from '../../src/cli/pager.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-pager-'))
afterAll(() => rmSync(folder, { recursive: true }))

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}\n`).join('')

/** Returns what is written to the terminal itself, which has 10 lines of 20 cells. */
const show = async (text: string, env: Record<string, string>) => {
  let written = ''
  const stdout = new Writable({
    write(chunk, _, done) {
      written += chunk
      done()
    },
  })
  await pager({ rows: 10, columns: 20, stdout, env: { PATH: process.env.PATH, ...env } })(text)
  return written
}

/** Creates a pager that records its input and the value of LESS. */
const keeping = (name: string, command: string) => {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${command} > ${file}.out\necho "$LESS" > ${file}.less\n`)
  chmodSync(file, 0o700)
  return {
    PAGER: file,
    shown: () => readFileSync(`${file}.out`, 'utf8'),
    less: () => readFileSync(`${file}.less`, 'utf8'),
  }
}

test('output that is longer than the screen goes only to the pager', async () => {
  const { PAGER, shown, less } = keeping('all', 'cat')
  expect(await show(lines(30), { PAGER })).toBe('')
  expect([shown(), less()]).toEqual([lines(30), 'FRX\n'])
  expect(await show(lines(30), { PAGER, LESS: 'S' })).toBe('')
  expect(less()).toBe('S\n')
})

test('output that fits on the screen is printed; a wrapped line counts as several', async () => {
  const { PAGER, shown } = keeping('none', 'cat')
  expect(await show(lines(9), { PAGER })).toBe(lines(9))
  expect(shown).toThrow('ENOENT')
  const wide = `${'x'.repeat(60)}\n`.repeat(4)
  expect(await show(wide, { PAGER })).toBe('')
  expect(shown()).toBe(wide)
})

test('a pager that quits early, or does not read its input, is not a failure', async () => {
  const { PAGER, shown } = keeping('first', 'head -1')
  expect(await show(lines(200_000), { PAGER })).toBe('')
  expect(shown()).toBe('line 0\n')
  expect(await show(lines(200_000), { PAGER: 'false' })).toBe('')
})

test.each(['', 'cat', join(folder, 'nothing-here')])('PAGER=%j: output is not paged', async (PAGER) => {
  expect(await show(lines(30), { PAGER })).toBe(lines(30))
})

test('Ctrl-C goes to the pager while it runs, and to the program again afterwards', async () => {
  let interrupted = 0
  const interrupt = () => {
    interrupted++
  }
  process.on('SIGINT', interrupt)
  await show(lines(30), { PAGER: `cat > /dev/null; kill -INT ${process.pid}; sleep 0.1` })
  expect(interrupted).toBe(0)
  process.emit('SIGINT')
  process.off('SIGINT', interrupt)
  expect(interrupted).toBe(1)
})

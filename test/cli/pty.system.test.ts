import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useAccount, useApp } from '../support/app.ts'
import { type Step, svc } from '../support/cli.ts'
import { dialogue, needsTerminal } from '../support/pty.ts'

const [enter, down, ctrlC] = ['\r', '\u001b[B', '\u0003']
const [taken, givenBack] = ['\u001b[?1049h', '\u001b[?1049l']

let folder: string

const t = useApp()
const account = useAccount(t)
const json = async (...args: string[]) => (await svc(t, [...args, '--account', account.id, '--json'])).json

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-pty-'))
  await json('lists', 'create', '--name', 'People')
  await json('contacts', 'upsert', '--list', 'People', '--email', 'ada@people.example')
  for (let i = 0; i < 30; i++) await json('topics', 'create', '--name', `Topic ${i}`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('on a real terminal', needsTerminal, () => {
  const take = (args: string[], steps: Step[], more: Parameters<typeof dialogue>[3] = {}) =>
    dialogue(t, [...args, '--account', account.id, '--no-color'], steps, more)
  /** The state of the terminal, which the shell prints after the command. */
  const cooked = /^isig icanon iexten echo /m

  test('a question is answered with arrows and Enter, and the terminal leaves raw mode', async () => {
    const { id } = await json('deals', 'create', '--title', 'Roof', '--email', 'ada@people.example')
    const steps: Step[] = [
      ['Roof (New, ada@people.example)', enter],
      [/The stage.*Qualified/s, `${down}${down}${enter}`],
    ]
    const { status, text } = await take(['deals', 'move'], steps, { after: 'stty -a' })
    expect([status, text]).toEqual([0, expect.stringContaining('Moved 1')])
    expect(text).toMatch(cooked)
    expect((await json('deals', 'show', id)).stage).toBe('Proposal')
  })

  test('Ctrl-C at a question is exit 130, and the terminal leaves raw mode', async () => {
    const { status, text } = await take(['lists', 'show'], [['People', ctrlC]], { after: 'stty -a' })
    expect(status).toBe(130)
    expect(text).toMatch(cooked)
  })

  test('a password is asked for and never shown', async () => {
    const { status, text } = await take(
      ['relay', 'set', '--url', 'smtps://ada@smtp.example.com:465'],
      [['Password of ada', `hunter2secret${enter}`]],
    )
    expect([status, text]).toEqual([0, expect.not.stringContaining('hunter2secret')])
    expect(await json('relay', 'show')).toMatchObject({ password: true })
  })

  test('Ctrl-C on a full screen is exit 130 and restores the terminal', async () => {
    for (const [args, seen] of [
      [['deals', 'board'], 'm move it'],
      [['status', '--watch'], 'q quit'],
    ] as const) {
      const { status, text } = await take([...args], [[seen, ctrlC]], { columns: 80, after: 'stty -a' })
      expect([args, status]).toEqual([args, 130])
      expect(text).toContain(taken)
      expect(text.slice(text.lastIndexOf(givenBack))).toMatch(cooked)
    }
  })

  test('a full screen is drawn again when the terminal is resized', async () => {
    const file = join(folder, 'terminal')
    const resize = async () => {
      const terminal = (await readFile(file, 'utf8')).trim()
      await promisify(execFile)('stty', ['-F', terminal, 'cols', '50', 'rows', '12'])
      return ''
    }
    const steps: Step[] = [
      ['q quit', resize],
      ['↑↓ scroll', 'q'],
    ]
    const { status, text } = await take(['status', '--watch'], steps, {
      columns: 80,
      rows: 40,
      before: `tty > ${file}`,
    })
    expect(status).toBe(0)
    expect(text.split('q quit')[0]).not.toContain('scroll')
  })

  test('a list that is longer than the screen is paged on the terminal', async () => {
    const env = { PAGER: "sed 's/^/paged:/'" }
    const { status, text } = await take(['topics'], [], { rows: 12, env })
    expect([status, text.match(/^paged:.*Topic \d/gm)!.length]).toEqual([0, 30])
  })

  test('a terminal that reports no size has 80 columns', async () => {
    const { text } = await dialogue(t, ['events', 'types'], [], { columns: 0, rows: 0 })
    expect(text).toMatch(/^deal\.stage_changed +\S.*\s\S+ \S+ /m)
  })
})

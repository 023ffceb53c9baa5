import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { closedPlaces, closedSetAt } from '../../src/cli/define.ts'
import { fullCommand } from '../../src/cli/next.ts'
import { type Acting, buildCommands, leavesOf } from '../support/commands.ts'

const helpOf = (command: Command): string => {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
  })
  command.outputHelp()
  return text
}

const examplesOf = (command: Command): string[] =>
  (/\nExamples:\n((?: {2}.*\n)+)/.exec(helpOf(command))?.[1] ?? '').trim().split(/\n */).filter(Boolean)

/** Splits a command line into words as a shell does, from `svc` up to a pipe, redirection or closing bracket. */
const wordsOf = (line: string): string[] => {
  const command = /(?<!\S)(?:<\()?svc (.*)$/.exec(line)?.[1] ?? line
  const words = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!)
  const end = words.findIndex((word) => /^[<>|]/.test(word))
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replace(/\)$/, ''))
}

const program = await buildCommands()
const closed = new Map<string, readonly string[]>()
for (const key of closedPlaces()) {
  const at = key.lastIndexOf(' ')
  closed.set(key, await closedSetAt(key.slice(0, at), key.slice(at + 1))!.load())
}
const leaves = leavesOf(program).filter((command) => !/^svc (help|completion words)$/.test(fullCommand(command)))

describe.each(leaves.map((command) => [fullCommand(command), command] as const))('%s --help', (name, command) => {
  test('has two examples of this command that the program accepts, with existing values', async () => {
    const examples = examplesOf(command)
    expect(examples.length).toBeGreaterThanOrEqual(2)
    expect(new Set(examples).size).toBe(examples.length)
    for (const line of examples) {
      const words = wordsOf(line.includes('| xargs svc ') ? line.slice(line.indexOf('xargs ') + 6) : line)
      // The argument that xargs adds.
      if (line.includes('| xargs svc ')) words.splice(2, 0, 'deal_x')
      const own = await buildCommands(words)
      const ran: string[] = []
      const wrong: string[] = []
      const check = (leaf: Command, place: string, value: unknown) => {
        const allowed = closed.get(`${fullCommand(leaf).slice(4)} ${place}`)
        if (!allowed || typeof value !== 'string') return
        wrong.push(...value.split(',').filter((part) => !allowed.includes(part)))
      }
      for (const leaf of leavesOf(own))
        (leaf as Acting)._actionHandler = () => {
          ran.push(fullCommand(leaf))
          for (const option of leaf.options) check(leaf, option.long!, leaf.opts()[option.attributeName()])
          for (const [i, argument] of leaf.registeredArguments.entries())
            check(leaf, `<${argument.name()}>`, leaf.args[i])
        }
      await own.parseAsync(['node', 'svc', ...words]).catch((error) => {
        throw new Error(`${line}: ${error.message}`)
      })
      expect([line, ran, wrong]).toEqual([line, [name], []])
    }
  })

  test('names the global flags', () => {
    const help = helpOf(command)
    for (const flag of ['--account <id|name>', '--json', '--jsonl', '-q, --quiet', '--wide', '--no-color'])
      expect(help).toContain(`  ${flag} `)
  })

  test('describes the command in the imperative', () => {
    expect(command.description()).toMatch(/^[A-Z][a-z]+ /)
    expect(command.description()).not.toMatch(/\bmails?\b/)
    expect(command.description()).not.toMatch(/^(What|The|A|An|It|Back|Its|Who) /)
  })
})

test('no help shows that a flag that may be repeated is not given by default', () => {
  expect(leaves.filter((command) => /default:\s*\[\s*\]/.test(helpOf(command))).map(fullCommand)).toEqual([])
})

test('the help of no command is wider than 80 columns, except for its examples', () => {
  const all = [...program.commands, ...leaves]
  expect(all.length).toBeGreaterThan(150)
  const wide = all.flatMap((command) =>
    helpOf(command)
      .replace(/\nExamples:\n(?: {2}.*\n)+/, '')
      .split('\n')
      .filter((line) => line.length > 80)
      .map((line) => `${fullCommand(command)}: ${line}`),
  )
  expect(wide).toEqual([])
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { check } from 'recheck'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'
import { limit } from './support/slowness.ts'

/** Checks that every regular expression takes linear time, because untrusted input is matched against many of them. */

const root = join(import.meta.dirname, '..')

/**
 * The number of expressions that are built at run time, by file. Each was reviewed: no two adjacent repeats match the same. That of
 * store/statement.ts reads only SQL of the program.
 */
const composed = {
  'src/cli/choices.ts': 1,
  'src/http/server.ts': 1,
  'src/lib/erased.ts': 1,
  'src/store/statement.ts': 1,
  'src/studio/studio.nodes.ts': 1,
  'src/studio/studio.marks.ts': 2,
}

interface Node {
  type: string
  regex?: { pattern: string; flags: string }
  callee?: { name?: string }
}

const nodesOf = (value: unknown): Node[] => {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.values(value).flatMap(nodesOf)
  return 'type' in value && 'start' in value ? [value as Node, ...below] : below
}

const files = ['src', 'bin', 'jobs'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .map((file) => `${folder}/${file}`),
)

const patterns = new Map<string, { pattern: string; flags: string; file: string }>()
const calls: Record<string, number> = {}
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8')
  for (const { type, regex, callee } of nodesOf(parseSync(file, text).program)) {
    if (regex) patterns.set(`/${regex.pattern}/${regex.flags}`, { ...regex, file })
    if (/^(New|Call)Expression$/.test(type) && callee?.name === 'RegExp') calls[file] = (calls[file] ?? 0) + 1
  }
}

/** Uses the pattern's automaton, which is exact but does not support look-behind. recheck runs its binary where it has one: a fifth of the CPU time of its JavaScript build. */
const isLinear = async (pattern: string, flags: string): Promise<boolean> =>
  (await check(pattern, flags, { checker: 'automaton', timeout: limit(120_000) })).status === 'safe'

const areLinear = (sources: string[]) => Promise.all(sources.map((source) => isLinear(source, '')))

test('the check distinguishes linear patterns from others', async () => {
  expect(await areLinear(['^a+$', '(a|b)*c', '^ *(\\S.*)$'])).toEqual([true, false, true])
  expect(await areLinear(['^(a+)+$', '^ *(.+?) *$', 'x+$', '[?&#][^?&#=]*=[^&#]*$'])).toEqual(Array(4).fill(false))
})

test('every pattern takes linear time', async () => {
  expect(patterns.size).toBeGreaterThan(150)
  const bad = await Promise.all(
    Array.from(patterns, async ([literal, { pattern, flags, file }]) =>
      (await isLinear(pattern, flags)) ? [] : [`${file}: ${literal}`],
    ),
  )
  expect(bad.flat()).toEqual([])
})

test('every expression that is built at run time was reviewed', () => {
  expect(calls).toEqual(composed)
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadPages, loadRoutes } from '../src/app/features.ts'
import { eventTypes } from '../src/events/events.ts'
import { exitRules, triggerKinds } from '../src/journeys/definition/definition.schema.ts'
import { lockClasses, singleLocks, textLocks } from '../src/lib/locks.ts'
import { startApp, type TestApp } from './support/app.ts'

/* Checks the references between code and documents, and that docs/reference is complete. */

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file) && !/(^|\/)node_modules\//.test(file))
    .map((file) => join(folder, file))

const self = relative(root, import.meta.filename)
const code = ['src', 'bin', 'jobs', 'migrations', 'test'].flatMap((folder) => filesIn(folder, /\.m?[jt]s$/))
const pages = ['README.md', 'CHANGELOG.md', ...['docs', 'src', 'test'].flatMap((folder) => filesIn(folder, /\.md$/))]

test('the lines of documents have at most 120 characters, those of the map 100; a row of a table can not be wrapped', () => {
  const long = pages.flatMap((page) =>
    read(page)
      .split('\n')
      .flatMap((line, i) =>
        line.length > (page === 'src/README.md' ? 100 : 120) && !line.startsWith('|') ? `${page}:${i + 1}` : [],
      ),
  )
  expect(long).toEqual([])
})

test('the README has at most 120 lines, and says in 60 words before its picture what svc is', () => {
  const text = read('README.md')
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  for (const command of ['npm ci && npm start', 'npm ci && npm test']) expect(text).toContain(`\n${command}`)
  const [first] = text.split('\n![')
  const words = first!
    .replace(/^# .*$/m, '')
    .trim()
    .split(/\s+/)
  expect(words.length).toBeGreaterThan(20)
  expect(words.length).toBeLessThanOrEqual(60)
})

test('the map has a line for each folder of src', () => {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? `${entry.name}/` : [],
  )
  const map = read('src/README.md').split('```')[1]!
  const listed = [...map.matchAll(/^ {2}([a-z]+\/) /gm)].map((match) => match[1]!)
  expect(listed.toSorted()).toEqual(folders.toSorted())
})

/** Returns a heading's anchor in GitHub's format. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

const withoutCode = (text: string): string => text.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1/gm, '')

const anchors = new Map(
  pages.map((page) => [
    page,
    new Set([...withoutCode(read(page)).matchAll(/^#{1,6} (.+)$/gm)].map((match) => anchorOf(match[1]!))),
  ]),
)

/** Returns why a reference is broken; null if it is not. */
const brokenBy = (file: string, anchor: string | undefined): string | null => {
  if (!existsSync(join(root, file))) return `${file} does not exist`
  if (anchor === undefined || !file.endsWith('.md')) return null
  return anchors.get(file)?.has(anchor) ? null : `${file} has no heading for #${anchor}`
}

const reference = /\bdocs\/[\w./-]+\.md(?:#([\w-]+))?/g

/** Returns the fragments among the sentences of a doc comment: "null: everything.", "`at`: since when.", "SQL condition: …". */
const fragmentsOf = (comment: string): string[] =>
  comment
    .slice(3, -2)
    .replaceAll(/\n[ \t]*\*/g, ' ')
    .split(/(?<=[.!?])[ ]/)
    .map((sentence) => sentence.trim())
    .filter((sentence) =>
      /^(?:`\w+`|''|[Nn]ull|undefined|true|false|[Aa]bsent|[Dd]efault|SQL(?: \w+)*): |; null: /.test(sentence),
    )

test('doc comments are sentences, without colons in place of verbs', () => {
  expect(
    fragmentsOf('/** An id. `at`: since when.\n * null: now. SQL from item: it. It is null: none. */'),
  ).toHaveLength(3)
  const found = code
    .filter((file) => file.startsWith('src') && file !== 'src/client/api.ts')
    .flatMap((file) =>
      (read(file).match(/\/\*\*[\s\S]*?\*\//g) ?? []).flatMap(fragmentsOf).map((text) => `${file}: ${text}`),
    )
  expect(found).toEqual([])
})

test('every reference of code to docs/ leads to a file and to a heading', () => {
  const found = code
    .filter((file) => file !== self)
    .flatMap((file) => [...read(file).matchAll(reference)].map((match) => ({ file, match })))
  expect(found.length).toBeGreaterThan(100)
  const broken = found.flatMap(({ file, match }) => {
    const why = brokenBy(match[0].split('#')[0]!, match[1])
    return why ? [`${file}: ${why}`] : []
  })
  expect(broken).toEqual([])
})

test('code refers to no contract but docs/reference', () => {
  const foreign = /(?<!docs\/reference\/)\b(?:api|decisions|cli|house|outbound)\.md\b/
  expect([...code, 'test/README.md'].filter((file) => file !== self && foreign.test(read(file)))).toEqual([])
})

test('every relative link of a document leads to a file and to a heading', () => {
  const broken = pages.flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].flatMap(([, path, anchor]) => {
      const target = path ? relative(root, resolve(root, dirname(page), path)) : page
      const why = brokenBy(target, anchor)
      return why ? [`${page}: ${why}`] : []
    }),
  )
  expect(broken).toEqual([])
})

test('no page has two equal headings', () => {
  const repeated = pages
    .filter((page) => page.startsWith('docs/'))
    .flatMap((page) => {
      const headings = [...withoutCode(read(page)).matchAll(/^#{1,6} (.+)$/gm)].map((match) => anchorOf(match[1]!))
      return headings.filter((heading, i) => headings.indexOf(heading) < i).map((heading) => `${page}#${heading}`)
    })
  expect(repeated).toEqual([])
})

test('the reference names every route', async () => {
  const text = read('docs/reference/api.md')
  const headings = new Set([...text.matchAll(/^### ([A-Z]+ \/\S+)$/gm)].map((match) => match[1]!))
  const routes = (await loadRoutes()).map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  expect([...headings].sort()).toEqual(routes.sort())
})

test('the reference names every page', async () => {
  const text = read('docs/reference/pages.md') + read('docs/reference/studio.md')
  const first = (await loadPages())
    .map(({ path }) => `/${path.split('/')[1]!}`)
    .filter((name) => !name.startsWith('/:'))
  expect([...new Set(first)].filter((name) => !text.includes(name === '/' ? '| `/` |' : `\`${name}/`))).toEqual([])
})

test('the reference names every setting', () => {
  const text = read('docs/reference/cli.md')
  const names = [...read('src/app/config.ts').matchAll(/^ {2}((?:SVC|DATABASE)_[A-Z_]+):/gm)].map((match) => match[1]!)
  expect(names.length).toBeGreaterThan(15)
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})

test('the reference names every trigger, exit rule and step of journeys', () => {
  const text = read('docs/reference/journeys.md')
  const steps = [
    ...read('src/journeys/definition/definition.schema.ts').matchAll(/id,\s+kind: z\.literal\('([\w-]+)'\)/g),
  ]
  expect(steps.length).toBeGreaterThan(10)
  const rules = exitRules.filter((rule) => !(eventTypes as readonly string[]).includes(rule))
  const names = [...triggerKinds, ...rules, ...steps.map((match) => match[1]!)]
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})

test('sentences that clients may compare are the same in the reference and in the code', () => {
  const text = read('docs/reference/api.md')
  const table = text.slice(text.indexOf('Sentences that clients may compare'), text.indexOf('## Operational endpoints'))
  const sentences = [...table.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
  expect(sentences.length).toBeGreaterThan(10)
  const sources = code.filter((file) => file.startsWith('src/')).map(read)
  const pattern = (sentence: string) => sentence.replace('at most 40 columns', 'at most ')
  expect(sentences.filter((one) => !sources.some((source) => source.includes(pattern(one))))).toEqual([])
})

test('the reference names every svc metric', () => {
  const names = ['src/app/daemon/daemon.metrics.ts', 'src/http/metrics.ts'].flatMap((file) =>
    [...read(file).matchAll(/'(svc_\w+)'/g)].map((match) => match[1]!),
  )
  expect(names.length).toBeGreaterThan(5)
  const text = read('docs/reference/api.md')
  expect(names.filter((name) => !text.includes(`\`${name}`))).toEqual([])
})

describe('with a database', () => {
  let t: TestApp

  beforeAll(async () => {
    t = await startApp()
  })
  afterAll(() => t.close())

  test('the queries for debugging run', async () => {
    const queries = [...read('docs/CONTRIBUTING.md').matchAll(/^```sql\n([\s\S]+?)^```/gm)].map((match) => match[1]!)
    expect(queries.length).toBeGreaterThan(3)
    for (const query of queries) await t.app.sql(query)
  })

  test('the plans in the reference are those of a new database', async () => {
    const rows = await t.app.sql<Record<string, string | number | boolean | null>>(
      `select name, contacts, sends, send_api_calls, embed_api, broadcast_minutes, webinar_courses from plans order by position`,
    )
    const shown = (value: unknown): string => {
      if (typeof value === 'boolean') return value ? 'yes' : 'no'
      return typeof value === 'number' ? value.toLocaleString('en') : String(value ?? 'unlimited')
    }
    const lines = rows.map((row) => `| ${Object.values(row).map(shown).join(' | ')} |`)
    expect(read('docs/reference/limits.md')).toContain(lines.join('\n'))
  })
})

test('every log line that is documented is in the code', () => {
  const text = read('docs/CONTRIBUTING.md')
  const table = text.slice(text.indexOf('| log line'), text.indexOf('| metric |'))
  const lines = [...table.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1]!)
  const sources = code.filter((file) => file.startsWith('src/')).map(read)
  expect(lines.length).toBeGreaterThan(3)
  expect(lines.filter((line) => !sources.some((source) => source.includes(line)))).toEqual([])
})

test('the index lists every decision', () => {
  const files = filesIn('docs/adr', /^\d{4}-.*\.md$/)
  const index = read('docs/adr/README.md')
  for (const file of files) {
    const [, number, title] = /^# (\d+)\. (.+)$/m.exec(read(file))!
    expect(index).toContain(`| [${number}](${file.split('/').at(-1)}) | ${title} |`)
    expect(file).toContain(`/${number!.padStart(4, '0')}-`)
    for (const part of ['Date: ', '## Context', '## Decision', '## Consequences', '## Figure'])
      expect([file, read(file).includes(part)]).toEqual([file, true])
  }
})

test('every advisory lock is documented', () => {
  const text = read('docs/locking.md')
  const names = [singleLocks, lockClasses, textLocks].flatMap((locks) => Object.keys(locks))
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})

import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { copyCheckout } from '../support/checkout.ts'
import { spawnInTest } from '../support/children.ts'
import { limit } from '../support/slowness.ts'

/*
 * Applies the recipes of docs/CONTRIBUTING.md to a copy of the checkout. After the first steps of each, the checks that the recipes name
 * report what was forgotten. After the other steps they pass.
 */

const root = join(import.meta.dirname, '../..')
const recipes = ['Adding an event', 'Adding a job', 'Adding a column']
/** The tests that say what was forgotten, in the files that the recipes name. */
const pattern =
  'entities define|columns of the entities|each migration declares|npm run (client|reference)|types of the contract|event has a subject|event is (listed|emitted)|lists each file that|each job has a case|has a description'

let folder: string
let copy: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-recipes-'))
  copy = join(folder, 'copy')
  await copyCheckout(copy)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Inserts a text after one that occurs once in a file. */
const insert = async (file: string, place: string, more: string): Promise<void> => {
  const parts = (await readFile(join(copy, file), 'utf8')).split(place)
  expect(parts, `${place} in ${file}`).toHaveLength(2)
  await writeFile(join(copy, file), parts.join(place + more))
}

/** Runs a program in the copy. Returns its output and exit status. */
const run = async (...args: string[]): Promise<{ status: number; output: string }> => {
  // The copy has its modules by a link, and its server has the migrations of the copy.
  const env = { ...process.env, NODE_PRESERVE_SYMLINKS: '0', DATABASE_URL: inject('serverUrl'), TEST_RUN: undefined }
  const child = spawnInTest(process.execPath, args, { cwd: copy, env })
  const [output, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, output: output + errors }
}

const generate = async (...scripts: string[]): Promise<void> => {
  for (const script of scripts) {
    const { status, output } = await run(script)
    expect(status, output).toBe(0)
  }
}

/** Returns the files with errors of types. The second check repeats only what the changes since the first one reach. */
const checkTypes = async (): Promise<string[]> => {
  const kept = ['--incremental', '--tsBuildInfoFile', join(folder, 'types.tsbuildinfo')]
  const options = ['-p', 'tsconfig.build.json', '--noEmit', '--checkers', '1', ...kept]
  const { output } = await run('node_modules/typescript/bin/tsc', ...options)
  return [...new Set([...output.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file]) => file!))].sort()
}

/** Runs the tests of these files that say what was forgotten. Returns the files in which one failed, and in which all passed. */
const runTests = async (files: readonly string[]): Promise<{ failed: string[]; passed: string[] }> => {
  const report = join(folder, 'report.json')
  const options = ['--reporter=json', `--outputFile=${report}`, '--maxWorkers=1', '-t', pattern]
  await run('node_modules/vitest/vitest.mjs', 'run', ...files, ...options)
  const { testResults } = JSON.parse(await readFile(report, 'utf8')) as {
    testResults: { name: string; assertionResults: { status: string }[] }[]
  }
  const withStatus = (status: string) =>
    testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.some((one) => one.status === status) ? relative(copy, name) : [],
    )
  const failed = withStatus('failed').sort()
  return {
    failed,
    passed: withStatus('passed')
      .filter((file) => !failed.includes(file))
      .sort(),
  }
}

const [definitions, shapes] = ['src/events/events.ts', 'src/deals/deals.shapes.ts']

const addNotes = `alter table "deals" add column "notes" text not null default ''`

const writeMigration = async (statements: readonly string[]): Promise<void> => {
  const name = 'Migration20991231000000_notes'
  await writeFile(
    join(copy, `migrations/${name}.ts`),
    `import { Migration } from '@mikro-orm/migrations'

export class ${name} extends Migration {
  static readonly change = 'expand'

  override up(): void {
${statements.map((statement) => `    this.addSql(\`${statement}\`)\n`).join('')}  }
}
`,
  )
}

const beginColumn = async () => {
  await writeMigration([addNotes, `alter table "deals" alter column "notes" drop default`])
  await insert('src/deals/deals.entities.ts', `    title: p.text(),\n`, `    notes: p.text().default(''),\n`)
  await generate('test/store/columns.ts')
  await insert(definitions, `    title: z.string().describe('At most 200 characters'),\n`, `    notes: z.string(),\n`)
  await insert(shapes, `const changeable = {\n`, `  notes: text(2000),\n`)
}

const completeColumn = async () => {
  await writeMigration([addNotes])
  await insert(definitions, `    notes: z.string()`, `.describe('At most 2,000 characters')`)
  await insert(definitions, `  id: newId('deal', now - 7 * days),\n`, `  notes: '',\n`)
  await insert(shapes, `  notes: text(2000)`, `.describe('At most 2,000 characters')`)
  await insert(shapes, `export const NewDeal = z\n  .object({\n`, `    notes: changeable.notes.default(''),\n`)
}

const beginEvent = () =>
  insert(
    definitions,
    `sample: (now) => ({ deal: sampleDeal(now), fromStageId: newId('stg', now - 90 * days) }),\n  }),\n`,
    `  defineEvent('deal.archived', {
    summary: 'a deal is archived',
    data: () => z.strictObject({ deal: DealShape }),
    sample: (now) => ({ deal: sampleDeal(now) }),
  }),
`,
  )

const completeEvent = async () => {
  await insert(
    'test/events/samples.test.ts',
    `  'deal.stage_changed': ['deal', 'fromStageId'],\n`,
    `  'deal.archived': ['deal'],\n`,
  )
  const subject = `\`Annual plan, 25 seats · Qualified · 12,500.5 USD · \${ada}\`,\n`
  await insert(
    'test/tools/console.shown.test.ts',
    `    'deal.stage_changed': ${subject}`,
    `    'deal.archived': ${subject}`,
  )
  await insert(
    'src/deals/deals.create.ts',
    `  await emit(work, 'deal.created', () => [{ deal }])\n`,
    `  await emit(work, 'deal.archived', () => [{ deal }])\n`,
  )
  const row = `| \`deal.archived\` | \`deals/deals.test.ts\`: another stage moves the deal |\n`
  await insert('test/README.md', '| event | test |\n|---|---|\n', row)
}

const beginJob = async () => {
  const job = (name: string) => `defineJob('${name}', { does: 'Does nothing', async runFor() {} })`
  // A file that has jobs already, and one that has none.
  await insert('src/forms/forms.stats.ts', `export const jobs = [\n`, `  ${job('form drafts')},\n`)
  await appendFile(
    join(copy, 'src/deals/deals.stats.ts'),
    `import { defineJob } from '../store/background.ts'\nexport const jobs = [${job('deal drafts')}]\n`,
  )
}

const completeJob = async () => {
  const last = `import('../deliveries/deliveries.purge.ts'),\n`
  await insert('src/app/schedule.ts', last, `        import('../deals/deals.stats.ts'),\n`)
  const cases = 'test/app/schedule.accounts.test.ts'
  const reason = `    'rate windows': 'They belong to keys and client addresses',\n`
  await insert(cases, reason, `    'form drafts': 'Does nothing',\n    'deal drafts': 'Does nothing',\n`)
}

test('the checks that the recipes name report what was forgotten, and pass when nothing was', {
  timeout: limit(600_000),
}, async () => {
  const page = await readFile(join(root, 'docs/CONTRIBUTING.md'), 'utf8')
  const sections = recipes.map((heading) => page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!)
  const files = [...new Set(sections.join().match(/test\/[\w/]+(\.\w+)?(?<!\.system)\.test\.ts/g))].sort()

  for (const begin of [beginColumn, beginEvent, beginJob]) await begin()
  expect(await checkTypes()).toEqual(expect.arrayContaining([shapes, definitions]))
  expect(await runTests(files)).toEqual({ failed: files, passed: [] })

  for (const complete of [completeColumn, completeEvent, completeJob]) await complete()
  await generate('test/client/generate.ts', 'test/docs/tables.ts')
  expect(await checkTypes()).toEqual([])
  expect(await runTests(files)).toEqual({ failed: [], passed: files })
})

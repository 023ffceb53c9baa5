// `npm run mutate [src/<path>[:line] …] [n=100] [seed=…] [from=1] [tests=…] [files=…]`: puts faults into the code, one after the other, and
// shows which ones no test notices. Each is put into a copy of the checkout, and the nearest tests of the first tier run there.
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createOutput } from '../../src/cli/output.ts'
import { openEmbedded } from '../../src/embedded/embedded.ts'
import { copyCheckout } from '../support/checkout.ts'
import { createInMemory } from '../support/global.ts'
import { createRandom } from '../support/random.ts'
import { fast } from '../support/server.ts'
import { diffOf, kinds, type Mutation, mutated, mutationsOf } from './mutations.ts'

/** Tests of a feature that are in folders of other ones. */
const elsewhere: Record<string, readonly string[]> = {
  accounts: [
    'http/{limits,manners,order,embed-quota}',
    'cli/{mail,confirmation,manners,terminal}',
    'courses/embed-token',
    'app/operate/rotate',
  ],
  contacts: ['cli/{contacts,progress,screen,manners}', 'segments/*', 'accounts/delete', 'http/foreign'],
  deliveries: [
    'webhooks/*',
    'queue/*',
    'cli/{webhooks,listen,follow}',
    'app/queues',
    'messages/forget',
    'http/{metrics,foreign}',
  ],
  messages: [
    'broadcasts/*',
    'journeys/engine/mail',
    'cli/{mail,topics,bounces,charts}',
    'app/{queues,operate/doctor}',
    'http/foreign',
  ],
  store: [
    'app/operate/{backup,doctor}',
    'app/{housekeeping,clock,secret}',
    'accounts/races',
    'deals/stats',
    'http/faults',
  ],
}

interface Candidate extends Mutation {
  path: string
  text: string
}

interface Verdict {
  result: 'killed' | 'timed out' | 'survived' | 'invalid'
  /** The test that failed, or the compiler's message. */
  by?: string
}

interface Limits {
  testMs: number
  runMs: number
}

const root = join(import.meta.dirname, '../..')
const args = process.argv.slice(2)
const places = args.filter((arg) => !arg.includes('='))
const {
  n = 100,
  seed = Math.floor(Math.random() * 1_000_000),
  /** The number of the first mutation, to continue an earlier run. */
  from = 1,
  /** Only these: a pattern of paths in test/, without their ending. */
  tests,
  /** At most this number of files for each mutation: the nearest. */
  files = Infinity,
} = Object.fromEntries(args.filter((arg) => arg.includes('=')).map((arg) => arg.split('=')))
const featureOf = (path: string) => path.split('/')[1]!

/** Returns the test files of a module in the order in which they run: by how near their folder is, and by their name. */
const testsOf = (path: string): string[] => {
  const feature = featureOf(path)
  const own = `test/${dirname(path).split('/').slice(1).join('/')}/`
  const word = basename(path, '.ts').split('.').at(-1)!
  const distance = (file: string) => (file.startsWith(own) ? 0 : file.startsWith(`test/${feature}/`) ? 2 : 4)
  const patterns = tests ? [tests] : [`${feature}/**/*`, ...(elsewhere[feature] ?? [])]
  const found = globSync(
    patterns.map((pattern) => `test/${pattern}.test.ts`),
    { cwd: root },
  )
  return [...new Set(found)]
    .filter((file) => !file.endsWith('.system.test.ts'))
    .map((file) => ({ file, place: distance(file) + (basename(file).includes(word) ? 0 : 1) }))
    .sort((a, b) => a.place - b.place || a.file.localeCompare(b.file))
    .slice(0, Number(files))
    .map(({ file }) => file)
}

/** Returns the mutations of a file, of the files of a folder, or of a line: `src/accounts/accounts.ts:12`. */
const candidatesOf = (place: string): Candidate[] => {
  const [path, line] = place.split(':') as [string, string?]
  if (!path.startsWith('src/') || !existsSync(join(root, path)))
    throw new Error(`There is no file or folder ${path} in src/`)
  const isFolder = statSync(join(root, path)).isDirectory()
  // Tables are compared with the migrations by test/store/schema.test.ts.
  const files = isFolder ? globSync(`${path}/**/*.ts`, { cwd: root, exclude: ['**/*.entities.ts'] }).sort() : [path]
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const all = mutationsOf(file, text).map((mutation) => ({ ...mutation, path: file, text }))
    return line ? all.filter((mutation) => diffOf(text, mutation).line === Number(line)) : all
  })
}

/** Returns `count` of the mutations of each place, with the kinds in turns. */
const chosen = (places: readonly string[], count: number, seed: number): Candidate[] =>
  places.flatMap((place, i) => {
    const random = createRandom(seed).fork(place)
    const byKind = Map.groupBy(random.shuffled(candidatesOf(place)), ({ kind }) => kind)
    const share = Math.floor(((i + 1) * count) / places.length) - Math.floor((i * count) / places.length)
    const turns = Array.from({ length: share }, (_, turn) => kinds.flatMap((kind) => byKind.get(kind)?.[turn] ?? []))
    return turns.flat().slice(0, share)
  })

/**
 * Runs a program of the project in the copy and returns its exit status and output. Kills it, with the processes that it started, on
 * abort and after `limitMs`; its status is then null.
 */
const runIn = (
  folder: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  limitMs = 2 ** 31 - 1,
) =>
  new Promise<{ status: number | null; stdout: string }>((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    const child = spawn(process.execPath, args, { cwd: folder, env, detached: true, stdio: [...stdio] })
    const kill = () => process.kill(-child.pid!, 'SIGKILL')
    const timer = setTimeout(kill, limitMs)
    signal.addEventListener('abort', kill)
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      stdout += part
    })
    child.on('error', reject).on('close', (status) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      resolve({ status, stdout })
    })
  })

interface Report {
  testResults: {
    name: string
    message: string
    assertionResults: { status: string; fullName: string; duration?: number }[]
  }[]
}

/** Returns the first failure of a run, its file and test, and the duration of its longest test. */
const resultIn = (folder: string, report: string): { failure: string | null; longestMs: number } => {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
  const failures = testResults.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults.find(({ status }) => status === 'failed')
    const file = name.slice(folder.length + 1)
    return failed ? `${file}: ${failed.fullName}` : message ? `${file}: ${message.split('\n')[0]}` : []
  })
  const durations = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ duration }) => duration ?? 0))
  return { failure: failures[0] ?? null, longestMs: Math.max(...durations) }
}

const mutate = async (places: readonly string[], count: number, seed: number): Promise<void> => {
  const temporary = (await createInMemory()) ?? (await mkdtemp(join(tmpdir(), 'svc-mutate-')))
  // Servers work in it as other users.
  await chmod(temporary, 0o755)
  const folder = join(temporary, 'copy')
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  const { signal } = interrupted
  // One server for all runs. It ends with what killed runs left on it.
  const server = await openEmbedded(join(temporary, 'data'), { settings: fast })
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    DATABASE_URL: server.url,
    NODE_COMPILE_CACHE: join(temporary, 'cache'),
    // The copy has its modules by a link.
    NODE_PRESERVE_SYMLINKS: '0',
    MUTATE_REPORT: join(temporary, 'report.json'),
  }
  const modules = join(folder, 'node_modules')
  const vitest = [join(modules, 'vitest/vitest.mjs'), 'run', '--config', 'test/mutate/vitest.config.ts']
  // A dropped call may leave an import unused: the mutation is valid all the same.
  const tsc = [join(modules, 'typescript/bin/tsc'), '--noUnusedLocals', 'false', '--noUnusedParameters', 'false']
  const compile = [...tsc, '--incremental', '--tsBuildInfoFile', join(temporary, 'types')]
  const report = env.MUTATE_REPORT!
  const test = async (files: readonly string[], limits?: Limits): Promise<Verdict & { longestMs: number }> => {
    // Without a name, Vitest would run every file.
    if (files.length === 0) return { result: 'survived', longestMs: 0 }
    await rm(report, { force: true })
    const limited = { ...env, ...(limits && { MUTATE_TEST_LIMIT: String(limits.testMs) }) }
    const { status } = await runIn(folder, [...vitest, ...files], limited, signal, limits?.runMs)
    signal.throwIfAborted()
    if (status === null) return { result: 'timed out', longestMs: 0 }
    if (!existsSync(report)) return { result: 'killed', by: 'a run without a report', longestMs: 0 }
    const { failure, longestMs } = resultIn(folder, report)
    if (status === 0) return { result: 'survived', longestMs }
    return { result: 'killed', by: failure ?? 'an error outside of the tests', longestMs }
  }

  /** Returns several times the duration of tests without a mutation. Throws if they fail. */
  const limitsOf = async (files: readonly string[]): Promise<Limits> => {
    const start = performance.now()
    const { result, by, longestMs } = await test(files)
    if (result !== 'survived') throw new Error(`Without a mutation a test fails: ${by}`)
    return { testMs: 20_000 + 5 * longestMs, runMs: 60_000 + 5 * (performance.now() - start) }
  }

  const verdictOf = async ({ path, kind, text, ...mutation }: Candidate, limits: Limits): Promise<Verdict> => {
    const file = join(folder, path)
    await writeFile(file, mutated(text, { kind, ...mutation }))
    try {
      if (!kind.startsWith('sql')) {
        const { status, stdout } = await runIn(folder, compile, env, signal)
        signal.throwIfAborted()
        if (status !== 0) return { result: 'invalid', by: stdout.split('\n')[0]! }
      }
      const first = kind === 'await' ? ['test/promises.system.test.ts'] : []
      return await test([...first, ...testsOf(path)], limits)
    } finally {
      await writeFile(file, text)
    }
  }

  process.stderr.write(`seed=${seed}\n`)
  const done: (Verdict & Candidate)[] = []
  try {
    await copyCheckout(folder)
    const all = chosen(places, count, seed)
    const candidates = all.slice(Number(from) - 1)
    const limits = new Map<string, Limits>()
    for (const [i, candidate] of candidates.entries()) {
      const feature = featureOf(candidate.path)
      const limit = limits.get(feature) ?? (await limitsOf(testsOf(candidate.path)))
      limits.set(feature, limit)
      const verdict = await verdictOf(candidate, limit)
      done.push({ ...candidate, ...verdict })
      const { line, diff } = diffOf(candidate.text, candidate)
      process.stderr.write(
        `${Number(from) + i}/${all.length} ${candidate.path}:${line} ${candidate.kind}: ${verdict.result}${verdict.by ? ` by ${verdict.by}` : ''}\n${diff}\n`,
      )
    }
  } catch (error) {
    // After Ctrl-C the results so far are shown.
    if (!signal.aborted) throw error
  } finally {
    await server.close()
    await rm(temporary, { recursive: true, force: true })
  }

  const survivors = done.filter(({ result }) => result === 'survived')
  for (const survivor of survivors) {
    const { line, diff } = diffOf(survivor.text, survivor)
    process.stdout.write(`\n${survivor.path}:${line} ${survivor.kind}\n${diff}\n`)
  }
  const rows = [...Map.groupBy(done, ({ path }) => featureOf(path))].map(([feature, all]) => {
    const number = (result: Verdict['result']) => all.filter((one) => one.result === result).length
    const killed = number('killed') + number('timed out')
    const survived = number('survived')
    const score = killed + survived > 0 ? `${Math.round((100 * killed) / (killed + survived))} %` : ''
    return [feature, killed, number('timed out'), survived, number('invalid'), score].map(String)
  })
  const { stdout, stderr } = process
  await createOutput({ format: 'table', stdout, stderr, isTerminal: true, columns: 120 }).list(
    'folders',
    rows,
    ['folder', 'killed', 'of them by time', 'survived', 'invalid', 'score'].map((heading, at) => [
      heading,
      (cells) => cells[at],
    ]),
  )
}

await mutate(places.length > 0 ? places : globSync('src/*/', { cwd: root }).sort(), Number(n), Number(seed))

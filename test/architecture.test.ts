import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { eventTypes } from '../src/events/events.ts'
import { tablesIn } from './support/sql.ts'

const root = join(import.meta.dirname, '..')

/** From the lowest to the highest: a file imports from its own layer or from lower ones (src/README.md, Arrows). */
const layers = [
  'client',
  'lib',
  'net',
  'embedded',
  'store',
  'queue',
  'events',
  'features',
  'pages',
  'http',
  'cli',
  'app',
  'tools',
  'bin',
  'jobs',
] as const
/** From the lowest to the highest: a feature imports only from features before it, and only their front file, entities and SQL. */
const features = [
  'accounts',
  'deliveries',
  'contacts',
  'segments',
  'activity',
  'studio',
  'results',
  'senders',
  'suppressions',
  'messages',
  'bounces',
  'broadcasts',
  'engagement',
  'bookings',
  'checkout',
  'forms',
  'deals',
  'journeys',
  'lifecycle',
  'courses',
  'webinars',
  'webhooks',
  'stats',
]

const files = ['src', 'bin', 'jobs'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file)),
)

interface Import {
  from: string
  to: string
  typeOnly: boolean
  isDynamic: boolean
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|import\('([^']+)'\)|(?:^|\n)import\s+'([^']+)'/g

const importsOf = (from: string): Import[] =>
  [...readFileSync(join(root, from), 'utf8').matchAll(importPattern)].map((match) => {
    const target = (match[2] ?? match[3] ?? match[4])!
    const to = target.startsWith('.') ? relative(root, resolve(root, dirname(from), target)) : target
    return { from, to, typeOnly: Boolean(match[1]), isDynamic: match[3] !== undefined }
  })

const imports = files.flatMap(importsOf)

const room = (file: string): string => (file.startsWith('src/') ? file.split('/')[1]! : file.split('/')[0]!)
const isOurs = (target: string) => /^(src|bin|jobs|migrations)\//.test(target)
const layerOf = (file: string): number => {
  const name = features.includes(room(file)) ? 'features' : room(file)
  return layers.indexOf(name as (typeof layers)[number])
}
const feature = (file: string): number => features.indexOf(room(file))
const shown = (found: Import[]) => found.map(({ from, to }) => `${from} -> ${to}`)

/** The imports from `http/`, `cli/` and `pages/` that features may have: types, and a few named files. */
const isEdgeShape = ({ from, to, typeOnly }: Import) =>
  (/\.routes\.ts$/.test(from) && to === 'src/http/route.ts') ||
  (/\.(pages|views|mails)\.ts$/.test(from) &&
    /^src\/pages\/(page|html|plain-mail|calendar|cover|player)\.ts$/.test(to)) ||
  (/\.commands\.ts$/.test(from) &&
    /^src\/cli\/(ask|command|define|flags|input|letter|open-file|output|progress|screen|trial)\.ts$/.test(to)) ||
  (typeOnly && /^src\/(http|cli)\//.test(to) && feature(from) >= 0)

test('every source file is in a folder that the map lists', () => {
  expect(files.filter((file) => layerOf(file) < 0)).toEqual([])
})

test('a file imports from its own layer or from lower ones', () => {
  const ours = imports.filter(({ to }) => isOurs(to) && !to.startsWith('migrations/'))
  expect(ours.length).toBeGreaterThan(50)
  expect(shown(ours.filter((found) => layerOf(found.to) > layerOf(found.from) && !isEdgeShape(found)))).toEqual([])
})

test('files have different names, except for the fronts of folders: a name leads to one file', () => {
  const isFront = (file: string) => basename(file, '.ts') === basename(dirname(file))
  const others = files.filter((file) => room(file) !== 'bin' && room(file) !== 'jobs' && !isFront(file))
  const byName = Object.groupBy(others, (file) => basename(file))
  expect(Object.values(byName).filter((same) => same!.length > 1)).toEqual([])
})

test('a migration imports nothing of the program: it has the same result in all later versions', () => {
  const own = readdirSync(join(root, 'migrations')).flatMap((file) => importsOf(join('migrations', file)))
  expect(own.length).toBeGreaterThan(50)
  expect(shown(own.filter(({ to }) => isOurs(to)))).toEqual([])
})

/** Returns circles of imports in `graph` (file to imported files): each closes with the import of its first file. */
const circlesIn = (graph: ReadonlyMap<string, readonly string[]>): string[] => {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (done.has(file) || path.includes(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return circles
}

test('no files import each other in a circle, neither by type imports nor by dynamic ones', () => {
  expect(circlesIn(new Map(Object.entries({ a: ['b', 'd'], b: ['c'], c: ['b'], d: ['c'] })))).toEqual(['b -> c -> b'])
  const graph = new Map(files.map((file) => [file, [] as string[]]))
  for (const { from, to } of imports) graph.get(from)!.push(to)
  expect(circlesIn(graph)).toEqual([])
})

test('only store/notices.ts calls pg_notify: inside the transaction of a change it would serialise all commits', () => {
  const naming = files.filter((file) => /\bpg_notify\b|\bnotify svc_/i.test(readFileSync(join(root, file), 'utf8')))
  expect(naming).toEqual(['src/store/notices.ts'])
})

test('no object literal is spread into another one to keep its properties on one line', () => {
  const spreading = files.filter((file) => readFileSync(join(root, file), 'utf8').includes('...{'))
  expect(spreading).toEqual([])
})

test('http and cli do not import each other', () => {
  expect(
    shown(
      imports.filter(
        ({ from, to }) =>
          (room(from) === 'http' && room(to) === 'cli') || (room(from) === 'cli' && room(to) === 'http'),
      ),
    ),
  ).toEqual([])
})

test('a feature imports only features before it in the order, and only their front file, entities or rows', () => {
  const across = imports.filter(
    ({ from, to }) => isOurs(to) && feature(from) >= 0 && feature(to) >= 0 && feature(from) !== feature(to),
  )
  const allowed = ({ from, to }: Import) =>
    feature(to) < feature(from) && (to === `src/${room(to)}/${room(to)}.ts` || /\.(entities|rows)\.ts$/.test(to))
  expect(shown(across.filter((found) => !allowed(found)))).toEqual([])
})

const subFolder = (file: string) => /^src\/[a-z]+\/([a-z]+)\//.exec(file)?.[1]

/** Adapters and SQL of other code: lists of commands, routes and pages load a file of these by itself. */
const isListed = (file: string): boolean => /\.(commands|routes|pages|rows)\.ts$/.test(file)

const schedule = 'src/app/schedule.ts'

/** Threads load what they run behind a front, which would load more. */
const isThread = (file: string): boolean => file === schedule || room(file) === 'jobs'

test.each(['app', 'cli', 'tools'])('code outside a sub-folder of %s imports only its front', (folder) => {
  const ours = imports.filter(({ to }) => room(to) === folder && subFolder(to))
  const inner = ours.filter(({ from, to }) => room(from) !== folder || subFolder(from) !== subFolder(to))
  expect(inner.length).toBeGreaterThan(1)
  const isFront = (file: string) => file === `src/${folder}/${subFolder(file)}/${subFolder(file)}.ts`
  expect(shown(inner.filter(({ from, to }) => !isFront(to) && !isListed(to) && !isThread(from)))).toEqual([])
})

test('code outside a feature imports no file of its sub-folders, except adapters, and threads what they run', () => {
  const inner = imports.filter(
    ({ from, to }) => features.includes(room(to)) && subFolder(to) && room(from) !== room(to),
  )
  expect(inner.length).toBeGreaterThan(1)
  expect(shown(inner.filter(({ from, to }) => !isListed(to) && !isThread(from)))).toEqual([])
})

test('the sub-folders of a feature import each other in one direction; their adapters use all of them', () => {
  const circles = features.flatMap((name) => {
    const graph = new Map<string, string[]>()
    for (const { from, to } of imports) {
      const [a, b] = [subFolder(from), subFolder(to)]
      if (room(from) !== name || room(to) !== name || !a || !b || a === b || isListed(from)) continue
      graph.set(a, [...(graph.get(a) ?? []), b])
    }
    return circlesIn(graph).map((circle) => `${name}: ${circle}`)
  })
  expect(circles).toEqual([])
})

/** Whether a file has nothing of its own. */
const onlyReExports = (text: string): boolean =>
  text
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .replace(/\b(?:import|export)\b[^'"]*\bfrom\s+'[^']+'/g, '')
    .trim() === ''

test('a feature has one front: in its sub-folders no file only re-exports others', () => {
  expect(onlyReExports("/* A front. */\n\nexport { a } from './a.ts'\nexport {\n  b,\n} from './b.ts'\n")).toBe(true)
  expect(onlyReExports("import { a } from './a.ts'\nexport const b = a\n")).toBe(false)
  const lists = files.filter(
    (file) => feature(file) >= 0 && subFolder(file) && onlyReExports(readFileSync(join(root, file), 'utf8')),
  )
  expect(lists).toEqual([])
})

test('http and cli import a feature only by its front file', () => {
  const edges = imports.filter(({ from, to }) => ['http', 'cli'].includes(room(from)) && feature(to) >= 0)
  expect(shown(edges.filter(({ to }) => to !== `src/${room(to)}/${room(to)}.ts`))).toEqual([])
})

test('a thread that waits for work loads neither what does the work nor zod', () => {
  const loadedBy = (file: string, loaded = new Set<string>()): Set<string> => {
    if (loaded.has(file)) return loaded
    loaded.add(file)
    for (const { from, to, typeOnly, isDynamic } of imports)
      if (from === file && !typeOnly && !isDynamic) loadedBy(to, loaded)
    return loaded
  }
  const source = readFileSync(join(root, schedule), 'utf8')
  for (const thread of ['deliveries', 'mail', 'journeys']) {
    const [own] = source.slice(source.indexOf(`name: '${thread}'`)).split(/\n {2}\},\n/)
    const jobs = [...own!.matchAll(/import\('\.\.([^']+)'\)/g)].map(([, file]) => `src${file}`)
    expect(jobs).not.toEqual([])
    const loaded = [...[`jobs/${thread}.ts`, ...jobs].reduce((all, file) => loadedBy(file, all), new Set<string>())]
    expect(loaded.filter((target) => !isOurs(target) && !target.startsWith('node:'))).toEqual(['pg'])
    // A module costs 0.2 to 0.4 ms of CPU time and 0.1 MB. Most features together have 250.
    expect(loaded.filter(isOurs).length).toBeLessThan(80)
  }
})

test('webhooks and their targets are changed without entities: svc listen would keep MikroORM loaded', () => {
  const loads = imports.filter(({ to, isDynamic }) => isDynamic && /\.entities\.ts$/.test(to))
  expect(loads.length).toBeGreaterThan(10)
  expect(shown(loads.filter(({ from }) => ['webhooks', 'deliveries'].includes(room(from))))).toEqual([])
})

test('each event is emitted somewhere', () => {
  const emitted = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bemit\(work, '([^']+)'/g)].map(([, type]) => type!),
  )
  expect([...new Set(emitted)].sort()).toEqual([...eventTypes].sort())
})

test('app/schedule.ts lists each file that defines jobs', () => {
  const defining = files.filter((file) => /^import \{.*\bdefineJob\b/m.test(readFileSync(join(root, file), 'utf8')))
  expect(defining.length).toBeGreaterThan(20)
  const listed = imports.filter(({ from, isDynamic }) => from === schedule && isDynamic).map(({ to }) => to)
  expect(listed.toSorted()).toEqual(defining.toSorted())
})

test.each([
  ['fastify', ['http']],
  ['commander', ['cli']],
  ['bree', ['app']],
  ['prom-client', ['app']],
  ['undici', ['net']],
  ['nodemailer', ['net']],
  ['imapflow', ['net']],
  ['postal-mime', ['bounces', 'tools']],
  ['smtp-server', ['tools']],
  ['@modelcontextprotocol/server', ['tools']],
  ['stripe', ['net']],
  ['mjml', ['studio']],
  ['pg', ['embedded', 'store']],
  ['kysely', ['store']],
])('only its own layer imports %s', (name, rooms) => {
  const users = imports.filter(({ to, typeOnly }) => !typeOnly && (to === name || to.startsWith(`${name}/`)))
  expect(shown(users.filter(({ from }) => !rooms.includes(room(from))))).toEqual([])
})

test('the client imports nothing, and no other code imports it', () => {
  const isClient = (file: string) => room(file) === 'client'
  const across = imports.filter(({ from, to }) => isOurs(to) && isClient(from) !== isClient(to))
  const foreign = imports.filter(({ from, to }) => isClient(from) && !isOurs(to))
  expect(shown([...across, ...foreign])).toEqual([])
})

test('lib does no I/O', () => {
  const io = /^node:(fs|net|http|https|dns|child_process|worker_threads|tls)/
  expect(shown(imports.filter(({ from, to }) => room(from) === 'lib' && io.test(to)))).toEqual([])
})

test('no module creates an object of Intl while it is loaded: that takes 5 to 10 ms of CPU time', () => {
  const creating = files.filter(
    (file) =>
      // Scripts are texts for the browser.
      !/(\.script|\/hour12)\.ts$/.test(file) &&
      /^(export )?const [^=]*= new Intl\./m.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(creating).toEqual([])
})

test('operations take the time from their unit of work, never from the clock', () => {
  const clocks = files.filter(
    (file) =>
      feature(file) >= 0 &&
      !/\.(commands|script)\.ts$/.test(file) &&
      /Date\.now\(\)|new Date\(\)/.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(clocks).toEqual([])
})

test('the lines of page templates have at most 130 characters', () => {
  const templates = files.filter(
    (file) =>
      (/\.(pages?|views|mails)\.ts$/.test(file) || /^src\/(pages|tools\/console|engagement\/liveview)\//.test(file)) &&
      // MJML writes it.
      file !== 'src/pages/plain-mail.frame.ts',
  )
  expect(templates.length).toBeGreaterThan(20)
  const lines = templates.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .map((line, i) => ({ at: `${file}:${i + 1}`, line })),
  )
  expect(lines.filter(({ line }) => line.length > 130).map(({ at }) => at)).toEqual([])
})

/** Views, which have no entity, and the tables of the entities, each with the folder that owns it. */
const owners = new Map([
  ['deliveries', 'deliveries'],
  ...files
    .filter((file) => file.endsWith('.entities.ts'))
    .flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/tableName: '(\w+)'/g)].map(
        ([, table]) => [table!, room(file)] as const,
      ),
    ),
])

test('the SQL of a folder names only its own tables', () => {
  expect(owners.size).toBeGreaterThan(50)
  const arrows: string[] = []
  for (const file of files) {
    const isForeign = (table: string) => owners.has(table) && owners.get(table) !== room(file)
    for (const table of tablesIn(readFileSync(join(root, file), 'utf8'), isForeign))
      arrows.push(`${file}: ${table} of ${owners.get(table)}`)
  }
  expect(arrows).toEqual([])
})

test('tables are found in statements and fragments, not in sentences, comments and common table expressions', () => {
  const source = `
    // select from comments
    const help = 'Erase an address from lists'
    const condition = \`exists (select from contacts where id = \${id(\`select 1 from "nested"\`)})\`
    await sql<Row>(\`with mine (id) as materialized (select id from mine_too) -- from remarks
      update deals d set x = 1 from only stages s, mine join mine on true returning /* from here */ 1\`)
    await sql('lock table installation', 'insert into events', 'delete from keys using plans', 'for share of links')`
  expect([...tablesIn(source, () => true)].sort()).toEqual([
    'contacts',
    'deals',
    'events',
    'installation',
    'keys',
    'links',
    'mine_too',
    'nested',
    'plans',
    'stages',
  ])
})

/** Ways in which a test gets a limit of its own that does not grow with the slowness of the machine. */
const ownLimits = [
  // Milliseconds: `timeout: 2d` is a journey's.
  /\btimeout: [\d_]+\b/i,
  // Less than the limit that each test has (test/support/slowness.ts).
  /^ *(?:test|it|describe)\b.*\btimeout: limit\((?:[12]?\d)?\d_?\d{3}\)|^ {2}timeout: limit\((?:[12]?\d)?\d_?\d{3}\),$/,
  // The last argument of a test or a hook.
  /^ *(?:test|it|describe|before|after)(?:Each|All)?\b.*\}, [\d_]+\)/,
  /\bvi\.wait(?:For|Until)\(/,
  /\bset(?:Default|DefaultNavigation)Timeout\([\d_]+\)/,
]
const lastArgument = /^( *)(?:\}, [\d_]+\)| {2}[\d_]{4,},\n\1\))/gm

/** The files of the tests, without this one, which quotes what it forbids. A workspace among them has packages of its own. */
const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.includes('node_modules') && file !== 'architecture.test.ts',
)

/** Returns the lines of a test file that set a limit of their own. */
const ownLimitsIn = (text: string): string[] => {
  const lines = text.split('\n').filter((line) => ownLimits.some((pattern) => pattern.test(line)))
  const endings = [...text.matchAll(lastArgument)].flatMap(({ 1: indent, index }) => {
    // The statement begins at the last line of the same indentation that closes nothing.
    const begin = text
      .slice(0, index)
      .split('\n')
      .findLast((line) => new RegExp(`^${indent}[a-z]`).test(line))
    return begin && /^ *(?:test|it|describe|before|after)(?:Each|All)?\b/.test(begin) ? [begin] : []
  })
  return [...lines, ...endings]
}

test('no test has a limit of its own, except through limit()', () => {
  const found = [
    "test('a', { timeout: 5000 }, async () => {})",
    "test('a', async () => {}, 5000)",
    "  test('a', async () => {\n    await b()\n  }, 60_000)",
    "test.each([])(\n  'a',\n  async () => {},\n  60_000,\n)",
    'await vi.waitFor(() => {})',
    'await expect.poll(state, { timeout: 5_000 }).toBe(1)',
    'page.setDefaultTimeout(5000)',
    "test('a', { timeout: limit(30_000) }, async () => {})",
    "test('a', {\n  timeout: limit(180_000),\n}, async () => {})",
  ]
  expect(found.filter((text) => ownLimitsIn(text).length !== 1)).toEqual([])
  expect(
    ownLimitsIn("test('a', { timeout: limit(900_000) }, async () => {\n  setTimeout(() => {\n  }, 50)\n})"),
  ).toEqual([])
  const set = tests.flatMap((file) =>
    ownLimitsIn(readFileSync(join(root, 'test', file), 'utf8')).map((line) => `${file}: ${line.trim()}`),
  )
  expect(set).toEqual([])
})

/** A statement that is only a call, or that takes only its body and headers: nothing would check its status. */
const uncheckedCall =
  /(?<![[(,]\n)^ *(?:await|const \{ (?:(?:body|headers)(?:: \w+)?(?:, )?)+ \} = await) \w+\.request\(.*/gm

test('no test ignores the status of a call: ok() demands it', () => {
  const calls = ["  await t.request('GET', '/')", "  const { body: made } = await t.request('POST', '/')"]
  expect(calls.filter((call) => !call.match(uncheckedCall))).toEqual([])
  expect("  const { status, body } = await t.request('GET', '/')".match(uncheckedCall)).toBeNull()
  const unchecked = tests.flatMap((file) =>
    (readFileSync(join(root, 'test', file), 'utf8').match(uncheckedCall) ?? []).map(
      (line) => `${file}: ${line.trim()}`,
    ),
  )
  expect(unchecked).toEqual([])
})

/** These end what they start themselves, or are no tests. */
const mayStartProcesses =
  /^(bench|mutate|run\.ts$|daemon\/patroni\/|support\/(children|cli|global)\.ts$|suite\/groups\.)/

test('what a test starts ends with it: processes are started by spawnInTest() of test/support/children.ts', () => {
  const starts = (text: string) => /import \{[^}]*\b(spawn|fork)\b[^}]*\} from 'node:child_process'/.test(text)
  expect(starts("import { execFile, spawn } from 'node:child_process'")).toBe(true)
  expect(starts("import { execFile, spawnSync } from 'node:child_process'")).toBe(false)
  const found = tests.filter(
    (file) => !mayStartProcesses.test(file) && starts(readFileSync(join(root, 'test', file), 'utf8')),
  )
  expect(found).toEqual([])
})

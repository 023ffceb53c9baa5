import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Lower first: a file imports from its own layer or from lower ones (src/README.md, Arrows). */
const layers = [
  'lib',
  'net',
  'store',
  'queue',
  'events',
  'features',
  'pages',
  'http',
  'cli',
  'app',
  'bin',
  'jobs',
] as const
/** Features side by side, lower first: an arrow points left only, and only at the front file. */
const features = [
  'quotas',
  'accounts',
  'deliveries',
  'contacts',
  'studio',
  'messages',
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
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|import\('([^']+)'\)|(?:^|\n)import\s+'([^']+)'/g

const imports: Import[] = files.flatMap((from) =>
  [...readFileSync(join(root, from), 'utf8').matchAll(importPattern)].map((match) => {
    const target = (match[2] ?? match[3] ?? match[4])!
    const to = target.startsWith('.') ? relative(root, resolve(root, dirname(from), target)) : target
    return { from, to, typeOnly: Boolean(match[1]) }
  }),
)

const room = (file: string): string => (file.startsWith('src/') ? file.split('/')[1]! : file.split('/')[0]!)
const isOurs = (target: string) => /^(src|bin|jobs|migrations)\//.test(target)
const layerOf = (file: string): number => {
  const name = features.includes(room(file)) ? 'features' : room(file)
  return layers.indexOf(name as (typeof layers)[number])
}
const feature = (file: string): number => features.indexOf(room(file))
const shown = (found: Import[]) => found.map(({ from, to }) => `${from} -> ${to}`)

/** `http/` and `cli/` stand side by side; a feature's routes and commands take their types, and only their types. */
const isEdgeShape = ({ from, to, typeOnly }: Import) =>
  (/\.routes\.ts$/.test(from) && to === 'src/http/route.ts') ||
  (/\.(pages|mails)\.ts$/.test(from) && /^src\/pages\/(page|html)\.ts$/.test(to)) ||
  (/\.commands\.ts$/.test(from) && /^src\/cli\/(command|input|output|progress|memory|source)\.ts$/.test(to)) ||
  (typeOnly && /^src\/(http|cli)\//.test(to) && feature(from) >= 0)

test('every source file stands in a room that the map knows', () => {
  expect(files.filter((file) => layerOf(file) < 0)).toEqual([])
})

test('a file imports from its own layer or from lower ones', () => {
  const ours = imports.filter(({ to }) => isOurs(to) && !to.startsWith('migrations/'))
  expect(ours.length).toBeGreaterThan(50)
  expect(shown(ours.filter((found) => layerOf(found.to) > layerOf(found.from) && !isEdgeShape(found)))).toEqual([])
})

test('http and cli do not know each other', () => {
  expect(
    shown(
      imports.filter(
        ({ from, to }) =>
          (room(from) === 'http' && room(to) === 'cli') || (room(from) === 'cli' && room(to) === 'http'),
      ),
    ),
  ).toEqual([])
})

test('a feature imports only features to its left, and only their front file or entities', () => {
  const across = imports.filter(
    ({ from, to }) => isOurs(to) && feature(from) >= 0 && feature(to) >= 0 && feature(from) !== feature(to),
  )
  const allowed = ({ from, to }: Import) =>
    feature(to) < feature(from) && (to === `src/${room(to)}/${room(to)}.ts` || to.endsWith('.entities.ts'))
  expect(shown(across.filter((found) => !allowed(found)))).toEqual([])
})

test('the edges import a feature by its front file', () => {
  const edges = imports.filter(({ from, to }) => ['http', 'cli'].includes(room(from)) && feature(to) >= 0)
  expect(shown(edges.filter(({ to }) => to !== `src/${room(to)}/${room(to)}.ts`))).toEqual([])
})

test.each([
  ['fastify', ['http']],
  ['commander', ['cli']],
  ['bree', ['app']],
  ['prom-client', ['app']],
  ['undici', ['net']],
  ['nodemailer', ['net']],
  ['imapflow', ['net']],
  ['postal-mime', ['app', 'messages']],
  ['smtp-server', ['app']],
  ['stripe', ['net']],
  ['mjml', ['studio']],
  ['pg', ['store']],
  ['kysely', ['store']],
])('only its own layer imports %s', (name, rooms) => {
  const users = imports.filter(({ to, typeOnly }) => !typeOnly && (to === name || to.startsWith(`${name}/`)))
  expect(shown(users.filter(({ from }) => !rooms.includes(room(from))))).toEqual([])
})

test('lib does no I/O', () => {
  const io = /^node:(fs|net|http|https|dns|child_process|worker_threads|tls)/
  expect(shown(imports.filter(({ from, to }) => room(from) === 'lib' && io.test(to)))).toEqual([])
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

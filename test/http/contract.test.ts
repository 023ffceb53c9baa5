import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { eventTypes } from '../../src/events/events.ts'

const folder = join(import.meta.dirname, '..')

const rows = readFileSync(join(folder, 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.slice(2, -2).split(' | '))
const routeRows = rows.filter((cells) => cells.length === 3)
const eventRows = rows.filter((cells) => cells.length === 2)
const named = (cell: string) => cell.replaceAll('`', '')

test('test/README.md lists exactly the routes, each with at least the statuses that it declares', async () => {
  const listed = Map.groupBy(routeRows, ([route]) => named(route!))
  const routes = await loadRoutes()
  expect([...listed.keys()].sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort())
  for (const { method, path, answers, refusals = [] } of routes) {
    const route = `${method} ${path}`
    // The page says once for all routes which tests check 429.
    const statuses = listed.get(route)!.map(([, status]) => Number(status))
    expect([route, statuses]).toEqual([
      route,
      expect.arrayContaining([...Object.keys(answers).map(Number), ...refusals.filter((status) => status !== 429)]),
    ])
  }
})

test('each event is listed', () => {
  expect(eventRows.map(([type]) => named(type!)).sort()).toEqual([...eventTypes].sort())
})

test('each listed test is in the first tier', () => {
  expect(rows.map((cells) => cells.at(-1)!).filter((cell) => cell.includes('.system.test.ts'))).toEqual([])
})

test.each(rows.map((cells) => [cells.at(-1)!]))('the listed test exists: %s', (cell) => {
  const [, file, title] = /^`([^`]+)`: (.+)$/.exec(cell)!
  expect(readFileSync(join(folder, file!), 'utf8')).toContain(title)
})

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadRoutes } from '../../src/app/features.ts'
import { events } from '../../src/events/events.ts'
import { openApiOf } from '../../src/http/openapi.ts'
import {
  architecturePage,
  cliPage,
  eventsPage,
  generateArchitecture,
  generateCli,
  generateEvents,
  generateReference,
  tablesOf,
  target,
  withTables,
} from './tables.ts'

test('the tables of docs/reference/api.md are what the OpenAPI document says: else run npm run reference', async () => {
  const text = await readFile(target, 'utf8')
  expect((await generateReference()) === text).toBe(true)
  const tables = tablesOf(openApiOf(await loadRoutes(), ''))
  expect(tables.get('Deal')).toEqual([expect.stringContaining('| `stage` | string or null |')])
  expect(tables.get('POST /deals')).toHaveLength(2)
})

test('the table of jobs in docs/architecture.md is what the features define: else run npm run reference', async () => {
  const text = await readFile(architecturePage, 'utf8')
  expect(await generateArchitecture()).toBe(text)
  expect(text).toContain('| `mail` | mailboxes | 1 min | Reads reports from bounce mailboxes |')
})

test('a new property changes the reference, and a section that is missing is reported', async () => {
  const text = await readFile(target, 'utf8')
  const document = structuredClone(openApiOf(await loadRoutes(), ''))
  const { Deal } = document.components.schemas
  Object.assign(Deal!.properties as object, { colour: { type: 'string', description: 'Colour of the card' } })
  expect(withTables(text, tablesOf(document))).toContain('| `colour` | string, optional | Colour of the card |')
  document.components.schemas.Card = { type: 'object', properties: { id: { type: 'string' } } }
  expect(() => withTables(text, tablesOf(document))).toThrow('no section for Card')
})

test('the tables of docs/reference/events.md are what the events define: else run npm run reference', async () => {
  expect(await generateEvents()).toBe(await readFile(eventsPage, 'utf8'))
  const more = { type: 'deal.deleted', summary: 'a deal is deleted', data: () => z.strictObject({ at: z.int() }) }
  const text = await generateEvents([...events, more as unknown as (typeof events)[number]])
  expect(text).toContain('| `deal.deleted` | a deal is deleted |')
  expect(text).toContain('| `deal.deleted` | `{ at }` |')
})

test('the table of commands in docs/reference/cli.md is what the program has: else run npm run reference', async () => {
  const text = await readFile(cliPage, 'utf8')
  expect((await generateCli()) === text).toBe(true)
  expect(text).toContain('| `keys` | `create`, `list`, `revoke` | API keys |')
  expect(text).toContain('; `lessons`: `list`, `add`, `update`, `move`, `delete` |')
})

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadRoutes } from '../../src/app/features.ts'
import { dataShapes } from '../../src/events/shapes.ts'
import { eventTypes } from '../../src/events/types.ts'
import { openApiOf } from '../../src/http/openapi.ts'
import {
  architecturePage,
  eventsPage,
  generateArchitecture,
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

test('docs/reference/events.md names every property of every event', async () => {
  const text = await readFile(eventsPage, 'utf8')
  const payloads = text.slice(text.indexOf('## Payloads'), text.indexOf('## Public URLs'))
  for (const type of eventTypes) {
    const [row] = new RegExp(`^\\| \`${type.replace('.', '\\.')}\` \\| .*$`, 'm').exec(payloads)!
    const { properties } = z.toJSONSchema(dataShapes[type]) as { properties: Record<string, { properties?: object }> }
    for (const [name, { properties: inner = {} }] of Object.entries(properties))
      for (const one of [
        name,
        ...(name === 'contact' || name === 'deal' || row.includes(`${name},`) ? [] : Object.keys(inner)),
      ])
        expect(row, type).toMatch(new RegExp(`\\b${one}\\b`))
  }
})

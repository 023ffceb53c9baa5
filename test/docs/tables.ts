/*
 * `npm run reference` writes the tables of properties in docs/reference/api.md from the OpenAPI document, and the table of jobs in
 * docs/architecture.md from the schedule, the tables of docs/reference/events.md from the events, and the table of commands in
 * docs/reference/cli.md from the commands. In the reference, a table stands in the section of
 * a component (`### Contact`) or of a route (`### POST /deals`), and its first column says what it lists: property, request or response; `*`
 * is the whole body.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import { z } from 'zod'
import { loadRoutes } from '../../src/app/features.ts'
import { threads } from '../../src/app/schedule.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { events } from '../../src/events/events.ts'
import { boundsOf, describeReferences, typeParts } from '../../src/http/docs.fields.ts'
import { type JsonSchema, type OpenApi, openApiOf } from '../../src/http/openapi.ts'
import { loadCommands } from '../../src/tools/commands.ts'

export const target = join(import.meta.dirname, '../../docs/reference/api.md')
export const architecturePage = join(target, '../../architecture.md')
export const eventsPage = join(target, '../events.md')
export const cliPage = join(import.meta.dirname, '../../docs/reference/cli.md')

/** A link of the reference to the section of a component. */
const link = (name: string): string => `[${name}](#${name.toLowerCase()})`

const typeText = (schema: JsonSchema): string =>
  typeParts(schema)
    .map((part) => ('component' in part ? link(part.component) : 'value' in part ? `\`${part.value}\`` : part.text))
    .join('')

const cell = (text: string): string => text.replaceAll('|', '\\|')

const row = (name: string, schema: JsonSchema, more: readonly string[], description: unknown): string =>
  `| \`${name}\` | ${cell([typeText(schema), ...boundsOf({ ...schema, description }), ...more].join(', '))} | ${cell(typeof description === 'string' ? description : '')} |`

type Properties = Record<string, JsonSchema>

/** Returns a component without the properties of another one that it extends. */
const withoutBase = (schemas: OpenApi['components']['schemas'], schema: JsonSchema): JsonSchema => {
  const own = Object.entries(schema.properties as Properties)
  const base = Object.values(schemas)
    .filter(({ properties = {} }) => {
      const entries = Object.entries(properties as Properties)
      return (
        entries.length > 2 &&
        entries.length < own.length &&
        entries.every((entry) => own.some((one) => isDeepStrictEqual(one, entry)))
      )
    })
    .at(0)?.properties as Properties | undefined
  return base
    ? { ...schema, properties: Object.fromEntries(own.filter(([name]) => !Object.hasOwn(base, name))) }
    : schema
}

const nestedOf = (schema: JsonSchema): [suffix: string, schema: JsonSchema][] => [
  ['', schema],
  ...((schema.anyOf ?? []) as JsonSchema[]).map((one): [string, JsonSchema] => ['', one]),
  ...(schema.items ? [['[]', schema.items as JsonSchema] as [string, JsonSchema]] : []),
  ...(typeof schema.additionalProperties === 'object'
    ? [['.<name>', schema.additionalProperties as JsonSchema] as [string, JsonSchema]]
    : []),
]

type Mark = (isRequired: boolean, property: JsonSchema) => string[]

/** Returns the rows of an object's properties, at any depth but that of other components. */
const rowsOf = (schema: JsonSchema, mark: Mark, path = ''): string[] => {
  if (schema.$ref !== undefined && path === '') return [row('*', schema, [], schema.description)]
  const alternatives = (schema.allOf ?? (schema.properties ? [] : (schema.anyOf ?? []))) as JsonSchema[]
  const required = (schema.required ?? []) as string[]
  const own = Object.entries((schema.properties ?? {}) as Properties).flatMap(([name, property]) => [
    row(path + name, property, mark(required.includes(name), property), property.description),
    ...nestedOf(property).flatMap(([suffix, inner]) =>
      inner.properties ? rowsOf(inner, mark, `${path}${name}${suffix}.`) : [],
    ),
  ])
  return [...own, ...alternatives.flatMap((one) => rowsOf(one, mark, path))]
}

const inResponse = (isRequired: boolean): string[] => (isRequired ? [] : ['optional'])
const inRequest = (isRequired: boolean, { default: fallback }: JsonSchema): string[] => [
  ...(isRequired ? ['required'] : []),
  ...(fallback === undefined ? [] : [`default \`${fallback}\``]),
]

/** Returns the rows of a body. Of several forms, each row says which it belongs to. */
const bodyRows = (schema: JsonSchema): string[] => {
  const forms = schema.properties ? [] : ((schema.anyOf ?? []) as JsonSchema[])
  if (forms.length === 0) return rowsOf(schema, inRequest)
  const all = forms.map((form) => rowsOf(form, inRequest))
  const isShared = (one: string) => all.every((rows) => rows.includes(one))
  return [
    ...all[0]!.filter(isShared),
    ...all.flatMap((rows, n) =>
      rows.filter((one) => !isShared(one)).map((one) => one.replace(/ \| (?=[^|]*\|$)/, ` (${forms[n]!.title}) | `)),
    ),
  ]
}

const tableOf = (kind: string, rows: readonly string[]): string =>
  rows.length === 0 ? '' : [`| ${kind} | type | meaning |`, '|---|---|---|', ...rows].join('\n')

/** Returns the tables by heading. */
export const tablesOf = (given: OpenApi): Map<string, string[]> => {
  const document = describeReferences(given)
  const tables = new Map<string, string[]>()
  const { schemas } = document.components
  for (const [name, schema] of Object.entries(schemas))
    if (schema.properties && !name.endsWith('Event') && name !== 'Error')
      tables.set(name, [tableOf('property', rowsOf(withoutBase(schemas, schema), inResponse))])
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(methods)) {
      const given = parameters.map(({ name, in: place, required, schema, description }) =>
        row(name, schema, [`in the ${place}`, ...inRequest(required && place !== 'path', schema)], description),
      )
      const body = requestBody ? bodyRows(requestBody.content['application/json'].schema) : []
      const answers = Object.entries(
        responses as Record<string, { content?: { 'application/json': { schema: JsonSchema } } }>,
      )
        .filter(([, { content }]) => content)
        .flatMap(([, { content }]) => rowsOf(content!['application/json'].schema, inResponse))
      const both = [tableOf('request', [...given, ...body]), tableOf('response', [...new Set(answers)])].filter(Boolean)
      tables.set(`${method.toUpperCase()} ${path.replace('/api/v1', '')}`, both)
    }
  return tables
}

const isTable = /^\| (property|request|response) \| type \| meaning \|\n\|---\|---\|---\|\n(?:\|.*\n)*/gm

/** Returns the reference with these tables. Throws if a section is missing. */
export const withTables = (text: string, tables: ReadonlyMap<string, readonly string[]>): string => {
  const missing = new Set(tables.keys())
  const sections = text.split(/^(?=#{2,3} )/m).map((section) => {
    const [heading = ''] = section.split('\n')
    const own = tables.get(heading.replace(/^#+ /, ''))
    if (!own) return section
    missing.delete(heading.replace(/^#+ /, ''))
    const prose = section
      .replace(isTable, '')
      .replace(/\n{3,}/g, '\n\n')
      .trimEnd()
    return `${[prose, ...own].join('\n\n')}\n\n`
  })
  if (missing.size > 0) throw new Error(`docs/reference/api.md has no section for ${[...missing].join(', ')}`)
  return sections.join('')
}

/** Returns the reference as it should be. */
export const generateReference = async (): Promise<string> =>
  withTables(await readFile(target, 'utf8'), tablesOf(openApiOf(await loadRoutes(), '')))

/** The table of jobs in docs/architecture.md. */
const jobTable = /^\| thread \| job \|.*\n(?:\|.*\n)*/m

/** Returns docs/architecture.md with the table of jobs. */
export const generateArchitecture = async (): Promise<string> => {
  const rows = await Promise.all(
    threads.map(async ({ name, interval, jobs }) =>
      (await jobs()).map((job) => {
        const every = 'every' in job ? job.every : interval?.replace('m', ' min')
        return `| \`${name}\` | ${job.name} | ${every} | ${job.does} |\n`
      }),
    ),
  )
  const table = ['| thread | job | when | what it does |\n', '|---|---|---|---|\n', ...rows.flat()].join('')
  return (await readFile(architecturePage, 'utf8')).replace(jobTable, () => table)
}

/**
 * Returns how the table of payloads shows an object: with its properties, unless it is a resource of the API or an earlier row has
 * shown it. References such as `{ id, name }` are short enough to be repeated.
 */
const payloadText = (schema: JsonSchema, shown: Set<string>): string =>
  `{ ${Object.entries(schema.properties as Properties)
    .map(([name, property]) => {
      const items = property.items as JsonSchema | undefined
      const object = items?.properties ? items : property
      const names = Object.keys(object.properties ?? {})
      const isKnown = shown.has(names.join()) && names.length > 2
      if (names.length === 0 || isKnown) return name
      shown.add(names.join())
      return `${name}: ${items ? `[${payloadText(items, shown)}]` : payloadText(property, shown)}`
    })
    .join(', ')} }`

/** Returns docs/reference/events.md with its tables of event types and of payloads. */
export const generateEvents = async (given = events): Promise<string> => {
  const shown = new Set<string>()
  const rowsOf = (cellOf: (event: (typeof events)[number]) => string) =>
    given.map((event) => `| \`${event.type}\` | ${cell(cellOf(event))} |\n`).join('')
  const payloadOf = ({ data }: (typeof events)[number]) =>
    `\`${payloadText(z.toJSONSchema(data()) as JsonSchema, shown)}\``
  const tables = { 'fires when': rowsOf(({ summary }) => summary), '`data`': rowsOf(payloadOf) }
  return Object.entries(tables).reduce(
    (text, [heading, rows]) =>
      text.replace(
        new RegExp(`(^\\| type \\| ${heading} \\|\\n\\|---\\|---\\|\\n)(?:\\|.*\\n)*`, 'm'),
        (_, head: string) => head + rows,
      ),
    await readFile(eventsPage, 'utf8'),
  )
}

const verbsOf = (command: Command): string =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((verb) => verb.name() !== 'help')
    .map((verb) => [`\`${verb.name()}\``, verbsOf(verb)].filter(Boolean).join(': '))
    .reduce((list, verb) => (list ? `${list}${/: /.test(list + verb) ? '; ' : ', '}${verb}` : verb), '')

/** Returns docs/reference/cli.md with its table of commands. */
export const generateCli = async (): Promise<string> => {
  const program = buildProgram(await loadCommands(), () => Promise.reject(new Error('No command runs here')))
  const rows = program.commands
    .filter((noun) => noun.name() !== 'help')
    .map((noun) => `| \`${noun.name()}\` | ${verbsOf(noun) || '–'} | ${noun.description()} |\n`)
  return (await readFile(cliPage, 'utf8')).replace(
    /^\| noun \| verbs \|.*\n(?:\|.*\n)*/m,
    () => `| noun | verbs | what |\n|---|---|---|\n${rows.join('')}`,
  )
}

if (import.meta.main) {
  await writeFile(target, await generateReference())
  await writeFile(architecturePage, await generateArchitecture())
  await writeFile(eventsPage, await generateEvents())
  await writeFile(cliPage, await generateCli())
}

import { number, quantity } from '../lib/quantity.ts'
import { type Html, type HtmlPart, html } from '../pages/html.ts'
import type { JsonSchema, OpenApi, Parameter } from './openapi.ts'

/** A part of the description of a type. */
type TypePart = { text: string } | { value: string } | { component: string }

const branchesOf = ({ anyOf, oneOf }: JsonSchema) => (anyOf ?? oneOf) as JsonSchema[] | undefined

/** Returns the name of the component that a schema refers to. */
export const componentOf = ({ $ref }: JsonSchema): string | undefined =>
  typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined

/** Returns the document with references that have the description of their component if they have none. */
export const describeReferences = (document: OpenApi): OpenApi =>
  JSON.parse(JSON.stringify(document), (_, node) => {
    const name = typeof node === 'object' && node !== null && componentOf(node)
    return name ? { description: document.components.schemas[name]?.description, ...node } : node
  })

const joined = (lists: TypePart[][], separator: string): TypePart[] =>
  lists.flatMap((list, n) => (n > 0 ? [{ text: separator }, ...list] : list))

/** Describes the type of a value. */
export const typeParts = (schema: JsonSchema): TypePart[] => {
  const { type, enum: choices, items, additionalProperties: values } = schema
  const component = componentOf(schema)
  if (component) return [{ component }]
  if ('const' in schema) return [{ value: String(schema.const) }]
  if (Array.isArray(choices))
    return joined(
      choices.map((choice) => [{ value: String(choice) }]),
      ', ',
    )
  const branches = type === undefined ? branchesOf(schema) : undefined
  if (branches) return joined(branches.map(typeParts), ' or ')
  if (items !== undefined) return [{ text: 'array of ' }, ...typeParts(items as JsonSchema)]
  if (type === 'object' && typeof values === 'object' && values && 'type' in values)
    return [{ text: 'object of ' }, ...typeParts(values as JsonSchema)]
  return [{ text: Array.isArray(type) ? type.join(' or ') : type === undefined ? 'any' : String(type) }]
}

const bounds: [name: string, shown: (value: number) => string][] = [
  ['minItems', (n) => `at least ${number(n)}`],
  ['maxItems', (n) => `at most ${number(n)}`],
  ['minimum', (n) => `from ${number(n)}`],
  ['maximum', (n) => `to ${number(n)}`],
  ['maxLength', (n) => `at most ${quantity(n, 'character')}`],
]

/** Larger ones are limits of the body. */
const largestBound = 1_000_000

/** Returns the bounds of a value that its description does not mention. */
export const boundsOf = (schema: JsonSchema): string[] => {
  const { description = '' } = schema
  return bounds.flatMap(([name, shown]) => {
    const value = schema[name]
    if (typeof value !== 'number' || value > largestBound || String(description).includes(number(value))) return []
    return [shown(value)]
  })
}

/** Renders a text with its `code` as HTML. */
export const marked = (text: string): HtmlPart =>
  text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))

export const shapeId = (name: string): string => `shape-${name}`

const typeOf = (schema: JsonSchema): HtmlPart =>
  typeParts(schema).map((part) => {
    if ('component' in part) return html`<a href="#${shapeId(part.component)}">${part.component}</a>`
    return 'value' in part ? html`<code>${part.value}</code>` : part.text
  })

type Properties = Record<string, JsonSchema>

/** Returns the objects whose properties belong below a property. */
const innerOf = (schema: JsonSchema): JsonSchema[] =>
  [
    schema,
    schema.items as JsonSchema | undefined,
    schema.additionalProperties as JsonSchema | undefined,
    ...(branchesOf(schema) ?? []),
  ].filter((one): one is JsonSchema => typeof one?.properties === 'object')

interface FieldOptions {
  /** Requests mark what is required, responses what is optional. */
  isRequest: boolean
}

const field = (
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  place: string | null,
  { isRequest }: FieldOptions,
): Html => {
  const { description, default: fallback } = schema
  const notes = [place, ...boundsOf(schema)].filter(Boolean).join(', ')
  return html`<li><code class="name">${name}</code> <span class="type">${typeOf(schema)}${notes && `, ${notes}`}</span>${
    isRequest && isRequired && html` <span class="tag must">required</span>`
  }${!isRequest && !isRequired && html` <span class="tag">optional</span>`}${
    fallback !== undefined && html` <span class="tag">default <code>${JSON.stringify(fallback)}</code></span>`
  }${typeof description === 'string' && html`<p>${marked(description)}</p>`}${innerOf(schema).map((inner) =>
    fields(inner, { isRequest }),
  )}</li>`
}

/** Renders the parameters of an operation. */
export const parameterFields = (parameters: readonly Parameter[]): HtmlPart =>
  parameters.length > 0 &&
  html`<ul class="fields">${parameters.map(({ name, in: place, required, description, schema }) =>
    field(name, { ...schema, description }, required, `in the ${place}`, { isRequest: true }),
  )}</ul>`

/** Renders the properties of an object with nested ones, or of each of its forms. A component is a link. */
export const fields = (schema: JsonSchema, options: FieldOptions): HtmlPart => {
  const { properties, required = [] } = schema as { properties?: Properties; required?: string[] }
  if (properties)
    return html`<ul class="fields">${Object.entries(properties).map(([name, of]) =>
      field(name, of, required.includes(name), null, options),
    )}</ul>`
  // The first part of an `allOf` has the properties; the others only restrict which of them go together.
  if (Array.isArray(schema.allOf)) return fields(schema.allOf[0], options)
  const branches = branchesOf(schema)
  if (branches?.some((one) => one.properties))
    return branches.map((one) => [html`<p class="form">${one.title as string}</p>`, fields(one, options)])
  return html`<p>${typeOf(schema)}${typeof schema.description === 'string' && [': ', marked(schema.description)]}</p>`
}

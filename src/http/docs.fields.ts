import { quantity } from '../lib/quantity.ts'
import { type HtmlPart, html } from '../pages/html.ts'
import type { JsonSchema } from './openapi.ts'

const count = (n: unknown, one: string, many?: string): string => quantity(Number(n), one, many)

/** Renders a text with its `code` as HTML. */
export const marked = (text: string): HtmlPart =>
  text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))

const bounds: [name: string, shown: (value: unknown) => string][] = [
  ['minLength', (n) => `at least ${count(n, 'character')}`],
  ['maxLength', (n) => `at most ${count(n, 'character')}`],
  ['minItems', (n) => `at least ${n}`],
  ['maxItems', (n) => `at most ${n}`],
  ['minimum', (n) => `from ${n}`],
  ['maximum', (n) => `to ${n}`],
  ['maxProperties', (n) => `at most ${count(n, 'property', 'properties')}`],
  ['pattern', (pattern) => (pattern === '\\S' ? 'not blank' : `like ${pattern}`)],
  ['default', (value) => `default: ${JSON.stringify(value)}`],
]

const branchesOf = ({ anyOf, oneOf }: JsonSchema) => (anyOf ?? oneOf) as JsonSchema[] | undefined

const nameOf = ({ $ref }: JsonSchema): string => String($ref).split('/').at(-1)!

/** Returns the type of a value as text. `link` renders the name of a component. */
export const typeText = (schema: JsonSchema, link: (name: string) => string): string => {
  const { type, enum: choices, items, additionalProperties: values } = schema
  if (schema.$ref !== undefined) return link(nameOf(schema))
  if ('const' in schema) return `\`${schema.const}\``
  if (Array.isArray(choices)) return choices.map((choice) => `\`${choice}\``).join(', ')
  const branches = branchesOf(schema)
  if (branches) return branches.map((branch) => typeText(branch, link)).join(' or ')
  if (items !== undefined) return `array of ${typeText(items as JsonSchema, link)}`
  if (type === 'object' && typeof values === 'object' && values && 'type' in values)
    return `object of ${typeText(values as JsonSchema, link)}`
  if (Array.isArray(type)) return type.join(' or ')
  return type === undefined ? 'any' : String(type)
}

/** Describes the type of a value. A named schema is a link. */
export const typeOf = (schema: JsonSchema): HtmlPart => {
  const { $ref, type, format, items, enum: choices } = schema
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1)!
    return html`<a href="#shape-${name}">${name}</a>`
  }
  if ('const' in schema) return JSON.stringify(schema.const)
  if (Array.isArray(choices)) return choices.join(' | ')
  const branches = type === undefined ? branchesOf(schema) : undefined
  if (branches) return branches.map((one, n) => [n > 0 && ' or ', typeOf(one)])
  const limits = bounds.flatMap(([name, shown]) => (schema[name] === undefined ? [] : shown(schema[name])))
  return [
    type === undefined ? 'anything' : String(type),
    typeof format === 'string' && ` (${format})`,
    items !== undefined && [' of ', typeOf(items as JsonSchema)],
    limits.length > 0 && `, ${limits.join(', ')}`,
  ]
}

/** Renders the properties of an object with nested ones, or of each alternative. Other types are described in words. */
export const fields = (schema: JsonSchema): HtmlPart => {
  const {
    properties,
    required = [],
    items,
  } = schema as {
    properties?: Record<string, JsonSchema>
    required?: string[]
    items?: JsonSchema
  }
  if (properties)
    return html`<ul class="fields">${Object.entries(properties).map(([name, of]) => {
      const { description } = of
      return html`<li><code>${name}</code> <span class="quiet">${typeOf(of)}${
        required.includes(name) && ' · required'
      }</span>${typeof description === 'string' && html`<br>${marked(description)}`}${nested(of)}</li>`
    })}</ul>`
  if (items) return html`<p class="quiet">${typeOf(schema)}</p>${nested(schema)}`
  // The first part of an `allOf` has the properties; the others only restrict which of them go together.
  if (Array.isArray(schema.allOf)) return fields(schema.allOf[0])
  const branches = branchesOf(schema)
  if (branches?.some((one) => one.properties))
    return branches.map((one, n) => [n > 0 && html`<p class="quiet">or</p>`, fields(one)])
  return html`<p class="quiet">${typeOf(schema)}</p>`
}

const nested = (schema: JsonSchema): HtmlPart => {
  const inner = [schema, schema.items as JsonSchema | undefined, ...(branchesOf(schema) ?? [])]
  return inner.filter((one) => one?.properties).map((one) => fields(one!))
}

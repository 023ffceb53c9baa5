import { type HtmlPart, html } from '../pages/html.ts'
import type { JsonSchema } from './openapi.ts'

const bounds: [name: string, shown: (value: unknown) => string][] = [
  ['minLength', (n) => `at least ${n} characters`],
  ['maxLength', (n) => `at most ${n} characters`],
  ['minItems', (n) => `at least ${n}`],
  ['maxItems', (n) => `at most ${n}`],
  ['minimum', (n) => `from ${n}`],
  ['maximum', (n) => `to ${n}`],
  ['maxProperties', (n) => `at most ${n} properties`],
  ['pattern', (pattern) => (pattern === '\\S' ? 'not blank' : `like ${pattern}`)],
  ['default', (value) => `else ${JSON.stringify(value)}`],
]

const branchesOf = ({ anyOf, oneOf }: JsonSchema) => (anyOf ?? oneOf) as JsonSchema[] | undefined

/** What a value is, in words. A shape with a name is a link to it. */
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

/** The properties of an object, nested ones below theirs; of alternatives each. What is no object is said in words. */
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
      }</span>${typeof description === 'string' && html`<br>${description}`}${nested(of)}</li>`
    })}</ul>`
  if (items) return html`<p class="quiet">${typeOf(schema)}</p>${nested(schema)}`
  const branches = branchesOf(schema)
  if (branches?.some((one) => one.properties))
    return branches.map((one, n) => [n > 0 && html`<p class="quiet">or</p>`, fields(one)])
  return html`<p class="quiet">${typeOf(schema)}</p>`
}

const nested = (schema: JsonSchema): HtmlPart => {
  const inner = [schema, schema.items as JsonSchema | undefined, ...(branchesOf(schema) ?? [])]
  return inner.filter((one) => one?.properties).map((one) => fields(one!))
}

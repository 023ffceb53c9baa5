import { scopesOf } from '../accounts/accounts.ts'
import { type Html, type HtmlPart, html } from '../pages/html.ts'
import type { PageView } from '../pages/page.ts'
import { componentOf, describeReferences, fields, marked, parameterFields, shapeId } from './docs.fields.ts'
import { codeBlock, eventId, eventsGuide, type GuideSection, guide, introduction } from './docs.guide.ts'
import { style } from './docs.look.ts'
import {
  bodySchema,
  examplesOf,
  type LocatedOperation,
  languages,
  pretty,
  sampleOf,
  samplesOf,
  type Webhook,
} from './docs.samples.ts'
import { script } from './docs.script.ts'
import type { JsonSchema, OpenApi, Operation, Parameter } from './openapi.ts'

const operationsOf = ({ paths }: OpenApi): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  )

/** `createDeal` is "Create deal". */
const titleOf = ({ operationId }: Operation): string => {
  const words = operationId.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words[0]!.toUpperCase() + words.slice(1)
}

export const shortPath = (path: string): string => path.replace('/api/v1', '')

const method = (name: string): Html => html`<span class="method ${name}">${name.toUpperCase()}</span>`

interface Answer {
  $ref?: string
  description?: string
  content?: { 'application/json': { schema: JsonSchema } }
}

/** Shows one language: the radio buttons choose it without a script, the script chooses it for the whole page. */
const codeSamples = (base: string, shown: LocatedOperation): Html => {
  const samples = samplesOf(base, shown)
  const name = `lang-${shown.operationId}`
  return html`<figure class="code samples"><figcaption><span>Request</span><span role="radiogroup" aria-label="Language">${languages.map(
    (language, n) =>
      html`<label><input type="radio" name="${name}" value="${language}" ${n === 0 && html`checked`}>${language}</label>`,
  )}</span></figcaption>${languages.map(
    (language) => html`<pre tabindex="0" data-lang="${language}"><code>${samples[language]}</code></pre>`,
  )}</figure>`
}

const inputOf = (id: string, { name, in: place, required }: Parameter): Html => {
  const field = `${id}-${name}`
  return html`<p><label for="${field}">${name}${!required && html` <span class="quiet">optional</span>`}</label>
<input id="${field}" data-in="${place}" name="${name}" autocomplete="off" ${required && html`required`}></p>`
}

/** Hidden until the script runs that can send it. */
const tryForm = (shown: LocatedOperation): Html => {
  const { path, operationId, parameters = [] } = shown
  const schema = bodySchema(shown)
  const [example] = examplesOf(schema)
  return html`<details class="try" hidden><summary>Try it</summary>
<form data-method="${shown.method}" data-path="${path}" ${shown.security.length > 0 && html`data-keyed`}>
${parameters.map((parameter) => inputOf(operationId, parameter))}
${
  schema &&
  html`<p><label for="${operationId}-body">Body</label>
<textarea id="${operationId}-body" data-in="body" rows="8" spellcheck="false">${pretty(example ?? {})}</textarea></p>`
}
<button>Send</button>
<pre role="status" tabindex="0" aria-label="Response" hidden></pre>
</form></details>`
}

const successOf = ({ responses }: Operation): [status: string, schema: JsonSchema][] =>
  Object.entries(responses as Record<string, Answer>).flatMap(([status, { content }]) =>
    content ? [[status, content['application/json'].schema] as [string, JsonSchema]] : [],
  )

const refusals = ({ components }: OpenApi, { responses }: Operation): Html => {
  const named = components.responses as unknown as Record<string, { description: string }>
  const rows = Object.entries(responses as Record<string, Answer>).filter(([, { $ref }]) => $ref)
  return html`<details class="refusals"><summary>Errors <span class="quiet">${rows.map(([status]) => status).join(', ')}</span></summary>
<ul class="fields">${rows.map(
    ([status, { $ref }]) =>
      html`<li><code class="name">${status}</code><p>${marked(named[$ref!.split('/').at(-1)!]!.description)}</p></li>`,
  )}</ul></details>`
}

const operationOf = (document: OpenApi, shown: LocatedOperation): Html => {
  const schema = bodySchema(shown)
  const { parameters = [] } = shown
  const successes = successOf(shown)
  const [, answer] = successes[0]!
  const [, ...more] = examplesOf(schema)
  const scopes = scopesOf({ method: shown.method.toUpperCase(), path: shortPath(shown.path) })
  const sample = pretty(sampleOf(document, answer, '', shown.operationId))
  const component = componentOf(answer)
  const described = html`${fields(answer, { isRequest: false })}${
    component && fields(document.components.schemas[component]!, { isRequest: false })
  }`
  // It stays in view beside a longer request.
  const isShort = sample.split('\n').length + 3 * described.text.split('<li>').length < 35
  const tagged = successes.map(([status]) => status).join(' or ')
  return html`<section class="operation" id="${shown.operationId}" aria-labelledby="${shown.operationId}-title">
<h3 id="${shown.operationId}-title"><a href="#${shown.operationId}">${titleOf(shown)}</a></h3>
<p class="path">${method(shown.method)} <code>${shortPath(shown.path)}</code></p>
<p>${marked(shown.summary)}.${scopes.length > 0 && html` <span class="quiet">Scope: ${scopes.map((scope, n) => [n > 0 && ' or ', html`<code>${scope}</code>`])}</span>`}</p>
<div class="pair"><div>
${codeSamples(document.servers[0]!.url, shown)}
${parameters.length > 0 && html`<h4>Parameters</h4>${parameterFields(parameters)}`}
${schema && html`<h4>Body</h4>${fields(schema, { isRequest: true })}`}
${more.map((example) => codeBlock('Another body', pretty(example)))}
${tryForm(shown)}
</div><div ${isShort && html`class="short"`}>
${codeBlock(html`Response <span class="status">${tagged}</span>`, sample)}
<h4>Response</h4>${described}
${refusals(document, shown)}
</div></div></section>`
}

const objectOf = (document: OpenApi, name: string): Html => {
  const schema = document.components.schemas[name]!
  const { description } = schema
  return html`<section class="operation" id="${shapeId(name)}" aria-labelledby="${shapeId(name)}-title">
<h3 id="${shapeId(name)}-title"><a href="#${shapeId(name)}">The object ${name}</a></h3>
${typeof description === 'string' && html`<p>${marked(description)}.</p>`}
<div class="pair"><div>${fields(schema, { isRequest: false })}</div><div>
${codeBlock(name, pretty(sampleOf(document, { $ref: `#/${name}` })))}
</div></div></section>`
}

/** Returns the names of the components that a schema refers to, at any depth. */
const componentsIn = (document: OpenApi, json: unknown, found = new Set<string>()): Set<string> => {
  for (const [, name] of (JSON.stringify(json) ?? '').matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name!)) continue
    found.add(name!)
    componentsIn(document, document.components.schemas[name!], found)
  }
  return found
}

interface Resource {
  id: string
  name: string
  description: string
  operations: LocatedOperation[]
  objects: string[]
}

/** Returns the resources with their operations, and the objects that appear there first. */
export const resourcesOf = (document: OpenApi): Resource[] => {
  const seen = new Set<string>(['Error', 'WebhookEvent', ...eventSchemas(document)])
  return document.tags.map(({ name, description }) => {
    const operations = operationsOf(document).filter(({ tags }) => tags.includes(name))
    const objects = [
      ...componentsIn(
        document,
        operations.map(({ requestBody, responses }) => [requestBody, responses]),
      ),
    ].filter((one) => !seen.has(one) && document.components.schemas[one])
    for (const one of objects) seen.add(one)
    return { id: `part-${name.toLowerCase().replace(/\W+/g, '-')}`, name, description, operations, objects }
  })
}

const eventSchemas = ({ webhooks }: OpenApi): string[] =>
  Object.values(webhooks as Record<string, Webhook>).map(
    ({ post }) => componentOf(post.requestBody.content['application/json'].schema)!,
  )

const resourceOf = (document: OpenApi, { id, name, description, operations, objects }: Resource): Html =>
  html`<section class="part" id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title"><a href="#${id}">${name}</a></h2><p>${description}</p>
${operations.map((shown) => operationOf(document, shown))}
${objects.map((object) => objectOf(document, object))}
</section>`

const eventOf = (document: OpenApi, type: string, { post }: Webhook): Html => {
  const { schema, example } = post.requestBody.content['application/json']
  const name = componentOf(schema)!
  const component = document.components.schemas[name]!
  const { data } = component.properties as { data: JsonSchema }
  return html`<section class="operation" id="${eventId(type)}" aria-labelledby="${eventId(type)}-title">
<h3 id="${eventId(type)}-title"><a href="#${eventId(type)}"><code>${type}</code></a></h3><p id="${shapeId(name)}">${marked(String(component.description))}.</p>
<div class="pair"><div><h4>Properties of data</h4>${fields(data, { isRequest: false })}</div><div>
${codeBlock('Payload', pretty(example))}
</div></div></section>`
}

const guideOf = ({ id, title, lead, text, code }: GuideSection, level: 'h1' | 'h2' = 'h2'): Html => {
  const heading =
    level === 'h1'
      ? html`<h1 id="${id}-title">${title}</h1>`
      : html`<h2 id="${id}-title"><a href="#${id}">${title}</a></h2>`
  return html`<section class="part" id="${id}" aria-labelledby="${id}-title">
${lead && [heading, lead]}<div class="pair"><div>${!lead && heading}${text}</div>${code && html`<div>${code}</div>`}</div></section>`
}

/** A link of the navigation. `words` are what the search finds it by, beside its text. */
const link = (id: string, text: HtmlPart, words = ''): Html =>
  html`<li><a href="#${id}" ${words && html`data-words="${words}"`}>${text}</a></li>`

const schemaKeyword = /^(?:type|description|anyOf|\$ref|format|pattern|min|max|default)/

const propertyNames = (json: unknown): string => {
  const names = new Set<string>()
  JSON.stringify(json, function (this: unknown, name, value) {
    const [first = ''] = typeof value === 'object' && value ? Object.keys(value) : []
    if (!Array.isArray(this) && /^\w+$/.test(name) && schemaKeyword.test(first)) names.add(name)
    return value
  })
  return [...names].join(' ')
}

const navigation = (document: OpenApi, sections: readonly GuideSection[], resources: readonly Resource[]): Html =>
  html`<nav class="side" aria-label="Contents">
<p class="brand"><a href="#start">${document.info.title} API</a><button type="button" class="menu plain" aria-expanded="false" aria-controls="contents">Contents</button></p>
<div id="contents"><p class="search" hidden><label for="search">Search</label><input id="search" type="search" autocomplete="off" placeholder="Search" aria-describedby="search-found"><kbd>/</kbd></p>
<p id="search-found" class="quiet" role="status"></p>
<ul class="guide">${sections.map(({ id, title }) => link(id, title))}</ul>
${resources.map(
  ({ id, name, operations, objects }) =>
    html`<p class="group"><a href="#${id}">${name}</a></p><ul>${operations.map((shown) =>
      link(
        shown.operationId,
        html`<span>${titleOf(shown)}</span>${method(shown.method)}`,
        `${shown.operationId} ${shortPath(shown.path)} ${shown.summary} ${propertyNames([shown.requestBody, shown.parameters])} ${shown.parameters?.map((one) => one.name).join(' ') ?? ''}`,
      ),
    )}${objects.map((object) => link(shapeId(object), html`<span>${object}</span><span class="kind">object</span>`, propertyNames(document.components.schemas[object])))}</ul>`,
)}
<p class="group"><a href="#events">Events</a></p><ul>${link('verify', 'Verify a signature', 'signature hmac')}${Object.keys(
    document.webhooks,
  ).map((type) =>
    link(
      eventId(type),
      html`<span>${type}</span><span class="kind">event</span>`,
      propertyNames(document.components.schemas[eventSchemas(document)[Object.keys(document.webhooks).indexOf(type)]!]),
    ),
  )}</ul></div></nav>`

/** Returns the page that shows the OpenAPI document and sends test calls. */
export const docsView = (given: OpenApi): PageView => {
  const document = describeReferences(given)
  const sections = guide(document)
  const resources = resourcesOf(document)
  const first = introduction(document)
  return {
    title: `${document.info.title} API`,
    body: html`<div class="docs">${navigation(document, [{ ...first, title: 'Start' }, ...sections], resources)}
<div class="content">
${guideOf(first, 'h1')}
${sections.map((section) => guideOf(section))}
${resources.map((resource) => resourceOf(document, resource))}
${guideOf(eventsGuide())}
<section class="part" aria-label="Payloads" id="${shapeId('WebhookEvent')}">
${Object.entries(document.webhooks).map(([type, webhook]) => eventOf(document, type, webhook as Webhook))}
</section>
</div></div>`,
    style,
    script,
  }
}

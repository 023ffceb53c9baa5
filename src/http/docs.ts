import { type Html, type HtmlPart, html } from '../pages/html.ts'
import type { Page } from '../pages/page.ts'
import { fields, marked, typeOf } from './docs.fields.ts'
import { script, style } from './docs.look.ts'
import type { JsonSchema, OpenApi, Operation, Parameter } from './openapi.ts'

/** An operation of the document with its method and path. */
interface LocatedOperation extends Operation {
  method: string
  path: string
}

const section = (title: string, body: HtmlPart): HtmlPart => body && html`<h3>${title}</h3>${body}`

const parametersList = (parameters: readonly Parameter[]): HtmlPart =>
  parameters.length > 0 &&
  html`<ul class="fields">${parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<li><code>${name}</code> <span class="quiet">${typeOf(schema)} · in the ${place}${
        required && ' · required'
      }</span>${description && html`<br>${marked(description)}`}</li>`,
  )}</ul>`

const pretty = (json: unknown): string => JSON.stringify(json, null, 2)

const examplesOf = (schema: JsonSchema): unknown[] => (Array.isArray(schema.examples) ? schema.examples : [])

const bodySchema = ({ requestBody }: Operation): JsonSchema | undefined =>
  requestBody?.content['application/json'].schema

const inputOf = (id: string, { name, in: place, required }: Parameter): Html => {
  const field = `${id}-${name}`
  return html`<p><label for="${field}">${name}${!required && html` <span class="quiet">optional</span>`}</label>
<input id="${field}" data-in="${place}" name="${name}" autocomplete="off" ${required && html`required`}></p>`
}

/** Hidden until the script runs that can send it. */
const tryForm = (shown: LocatedOperation): Html => {
  const { method, path, operationId, parameters = [] } = shown
  const schema = bodySchema(shown)
  const [example] = schema ? examplesOf(schema) : []
  return html`<form class="try" data-method="${method}" data-path="${path}" ${
    shown.security.length > 0 && html`data-keyed`
  } hidden>
<h3>Try it</h3>
${parameters.map((parameter) => inputOf(operationId, parameter))}
${
  schema &&
  html`<p><label for="${operationId}-body">Body</label>
<textarea id="${operationId}-body" data-in="body" rows="8" spellcheck="false">${pretty(example ?? {})}</textarea></p>`
}
<button>Send</button>
<pre role="status" tabindex="0" aria-label="Response" hidden></pre>
</form>`
}

const componentOf = (document: OpenApi, reference: string): { description: string } =>
  reference
    .split('/')
    .slice(1)
    .reduce((node, name) => (node as Record<string, unknown>)[name], document as unknown) as { description: string }

interface Answer {
  $ref?: string
  description?: string
  content?: { 'application/json': { schema: JsonSchema } }
}

const answers = (document: OpenApi, { responses }: Operation): Html =>
  html`<ul class="fields">${Object.entries(responses as Record<string, Answer>).map(([status, answer]) => {
    const { description } = answer.$ref ? componentOf(document, answer.$ref) : answer
    const schema = answer.content?.['application/json'].schema
    return html`<li><code>${status}</code> ${marked(description!)}${schema && fields(schema)}</li>`
  })}</ul>`

const operationOf = (document: OpenApi, shown: LocatedOperation): Html => {
  const schema = bodySchema(shown)
  const examples = schema ? examplesOf(schema) : []
  return html`<details id="${shown.operationId}">
<summary><code class="method">${shown.method.toUpperCase()}</code> <code>${shown.path}</code><span>${shown.summary}</span></summary>
${section('Parameters', parametersList(shown.parameters ?? []))}
${section('Body', schema && fields(schema))}
${examples.map((example) => section('Example', html`<pre tabindex="0">${pretty(example)}</pre>`))}
${section('Responses', answers(document, shown))}
${tryForm(shown)}
</details>`
}

interface Webhook {
  post: {
    summary: string
    parameters: Parameter[]
    requestBody: { content: { 'application/json': { schema: JsonSchema; example: unknown } } }
  }
}

const webhookOf = (type: string, { post }: Webhook): Html => {
  const { schema, example } = post.requestBody.content['application/json']
  return html`<details><summary><code>${type}</code></summary>
${section('Headers', parametersList(post.parameters))}
${section('Body', fields(schema))}
${section('Sample', html`<pre tabindex="0">${pretty(example)}</pre>`)}
</details>`
}

const operationsOf = ({ paths }: OpenApi): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  )

/** The parts after the resources. */
const more = ['Deliveries', 'Objects'] as const

const partId = (name: string): string => `part-${name.toLowerCase().replaceAll(' ', '-')}`

const view = (document: OpenApi): Html => {
  const families = Map.groupBy(operationsOf(document), ({ tags }) => tags[0]!)
  const { title, description } = document.info
  return html`<h1>The API of ${title}</h1>
${description.split('\n\n').map((paragraph) => html`<p>${marked(paragraph)}</p>`)}
<p>Base URL: <code>${document.servers[0]!.url}</code>. The same document for programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<h2 id="part-key">Your API key</h2>
<p>Send a key with each call: <code>Authorization: Bearer svc_live_…</code>. To create one, run <code>svc keys create --name docs</code>
on the server; <code>svc dev</code> prints its demo key when it starts. Live view calls need no key: the token in their path is enough.</p>
<p class="key" hidden><label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="svc_live_…" aria-describedby="key-note">
<span id="key-note" class="quiet">The key stays in this page and is sent to this server only. “Send” makes real calls. When you paste a key, the page looks up a list and a journey of its account and puts their ids into the examples.</span>
<strong id="key-state" role="status"></strong></p>
<nav aria-label="Parts"><ul>${[...families.keys(), ...more].map(
    (name) => html`<li><a href="#${partId(name)}">${name}</a></li>`,
  )}</ul></nav>
${[...families].map(
  ([family, operations]) =>
    html`<h2 id="${partId(family)}">${family}</h2>${operations.map((shown) => operationOf(document, shown))}`,
)}
<h2 id="${partId(more[0])}">${more[0]}</h2><p>The request that svc sends to your webhooks for each event type.</p>
${Object.entries(document.webhooks).map(([type, webhook]) => webhookOf(type, webhook as Webhook))}
<h2 id="${partId(more[1])}">${more[1]}</h2>
${Object.entries(document.components.schemas).map(
  ([name, schema]) =>
    html`<details id="shape-${name}"><summary><code>${name}</code></summary>${fields(schema)}</details>`,
)}`
}

/** `/docs`: shows the OpenAPI document and sends test calls. It loads nothing from other hosts. */
export const docsPage = (document: () => OpenApi): Page => ({
  method: 'GET',
  path: '/docs',
  handle: async () => ({ title: 'API', body: view(document()), style, script }),
})

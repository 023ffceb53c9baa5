import { type Scope, scopes, scopesOf } from '../accounts/accounts.ts'
import { eventTypes, firesWhen } from '../events/events.ts'
import { idempotencyKeyHeader, signatureHeader, timestampHeader } from '../lib/signature.ts'
import { type Html, type HtmlPart, html } from '../pages/html.ts'
import { marked } from './docs.fields.ts'
import type { OpenApi } from './openapi.ts'

/** A section of the guide. `code` stands beside its text on wide screens. */
export interface GuideSection {
  id: string
  title: string
  /** Above the text and its code. */
  lead?: HtmlPart
  text: HtmlPart
  code?: HtmlPart
}

export const codeBlock = (title: HtmlPart, code: string): Html =>
  html`<figure class="code"><figcaption>${title}</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`

const firstCall = (base: string): string => `curl ${base}/api/v1/send \\
  -H "Authorization: Bearer $SVC_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{
  "to": "ada.okafor@northwind.example",
  "subject": "Hello",
  "html": "<p>Hello!</p>",
  "text": "Hello!"
}'`

const refusal = `HTTP/1.1 400 Bad Request
X-Request-Id: req_…

{ "error": "email is required" }`

const secondPage = (base: string): string => `curl '${base}/api/v1/sends?limit=100' …
# { "sends": [ … ], "next": "eyJ…" }

curl '${base}/api/v1/sends?limit=100&cursor=eyJ…' …
# { "sends": [ … ], "next": null }`

const everyPage = `for await (const { sends } of svc.pages('/sends')) {
  console.log(sends.length)
}`

const limited = `HTTP/1.1 429 Too Many Requests
RateLimit-Limit: 60
RateLimit-Remaining: 0
RateLimit-Reset: 17
Retry-After: 17

{ "error": "Rate limit exceeded" }`

const replayed = `HTTP/1.1 200 OK
Idempotent-Replayed: true

{ "deal": { … }, "created": false }`

const receiver = `import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from 'svcd-engagement-client/webhooks'

createServer(async (request, response) => {
  const body = await buffer(request)
  const { verdict, type, event } = verifyWebhook(
    process.env.WEBHOOK_SECRET!,
    request.headers,
    body,
  )
  if (verdict !== 'ok') return response.writeHead(401).end(verdict)
  console.log(type, event.data)
  response.writeHead(204).end()
}).listen(3000)`

const verifier = `import hashlib, hmac, time

def verify_webhook(secret, timestamp, signature, body):
    digest = hmac.new(
        secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256
    ).hexdigest()
    expected = "v1=" + digest
    parts = signature.split(",")
    matches = any([hmac.compare_digest(expected, part) for part in parts])
    return matches and abs(time.time() - int(timestamp)) <= 300`

const statuses = [
  ['400', 'Malformed JSON, or a missing or invalid property, which the sentence names'],
  ['401', 'The key is missing, invalid, expired or revoked'],
  ['403', 'Outside the scopes of the key, or not in the plan'],
  ['404', 'Missing, or of another account'],
  ['409', 'Conflicts with the current state, or a limit is reached'],
  ['413, 415', 'The body is too large, is not JSON, or is compressed'],
  ['429', 'The rate limit of the key, or a monthly quota'],
  ['500', 'An unexpected error'],
  ['503', 'Stopping, busy, or without its database: try again after `Retry-After`'],
] as const

const table = (head: readonly string[], rows: readonly (readonly HtmlPart[])[]): Html =>
  html`<table><thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>`

const joined = (texts: readonly string[]): HtmlPart =>
  texts.map((text, n) => [n > 0 && ', ', html`<code>${text}</code>`])

/** Returns the routes of a scope: `/deals` for all of a first segment, otherwise their methods and paths. */
const routesOf = ({ paths }: OpenApi, scope: Scope): string[] => {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: path.replace('/api/v1', '') })),
  )
  const segments = Map.groupBy(routes, ({ path }) => `/${path.split('/')[1]}`)
  return [...segments].flatMap(([segment, all]) => {
    const own = all.filter((one) => scopesOf(one).includes(scope))
    return own.length === all.length ? [segment] : own.map(({ method, path }) => `${method} ${path}`)
  })
}

/** Returns the first section: what the API is, with one call. */
export const introduction = ({ info, servers }: OpenApi): GuideSection => ({
  id: 'start',
  title: `The API of ${info.title}`,
  lead: html`<p class="lead">${info.description
    .split('\n\n')[0]!
    .split('\n')
    .map((line, n) => [n > 0 && html`<br>`, line])}</p>`,
  text: html`<p>Base URL: <code>${servers[0]!.url}/api/v1</code><br>
For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1). For language models: <a href="llms.txt">llms.txt</a>.</p>`,
  code: codeBlock('Send an email', firstCall(servers[0]!.url)),
})

/** Returns the sections that come before the resources. */
export const guide = (document: OpenApi): GuideSection[] => {
  const base = document.servers[0]!.url
  return [
    {
      id: 'authentication',
      title: 'Authentication',
      text: html`<p>Send your API key as a bearer token with each call. Keep it on a server: it can read and change the account. Live view calls
need no key, because the token in their path is enough.</p>
<p>A key that was created with scopes (<code>--scope deals</code>) may call only the routes that one of them allows; all others answer 403.</p>
${table(
  ['Scope', 'Routes'],
  scopes.map((scope) => [html`<code>${scope}</code>`, joined(routesOf(document, scope))]),
)}
<div class="key" hidden><label for="key">Try it with your API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="svc_live_…" aria-describedby="key-note">
<p id="key-note" class="quiet">The key stays in this page and is sent to this server only. “Send” below each call makes real calls, with ids of
the account where there are any.</p>
<strong id="key-state" role="status"></strong></div>`,
      code: [
        codeBlock('Create a key on the server', 'svc keys create --name backend'),
        codeBlock('Header', 'Authorization: Bearer svc_live_…'),
        codeBlock(
          'TypeScript client',
          `import { createClient } from 'svcd-engagement-client'

const svc = createClient({
  baseUrl: '${base}',
  key: process.env.SVC_API_KEY!,
})`,
        ),
      ],
    },
    {
      id: 'errors',
      title: 'Errors',
      text: html`<p>Every response other than a 2xx has the body <code>{ "error": "…" }</code>: one sentence that names the property or the reason.
<code>X-Request-Id</code> identifies the call in the log of the server.</p>
${table(
  ['Status', 'Meaning'],
  statuses.map(([status, meaning]) => [html`<code>${status}</code>`, marked(meaning)]),
)}`,
      code: codeBlock('A refusal', refusal),
    },
    {
      id: 'idempotency',
      title: 'Idempotency',
      text: html`<p>Send an <code>Idempotency-Key</code> of 1 to 200 characters with <code>POST /send</code>, <code>POST /deals</code> and
<code>POST /events</code>. A call with a used key has no second effect: it returns the result of the first one, marked by
<code>Idempotent-Replayed: true</code>. Keys belong to the account and do not expire. A refused call frees its key.</p>
<p>The TypeScript client sends a random key with each of these calls, and keeps it when it tries again.</p>`,
      code: codeBlock('The second call with a key', replayed),
    },
    {
      id: 'paging',
      title: 'Paging',
      text: html`<p>Lists that can be long answer pages. <code>limit</code> is the number of rows, 1 to 500 (default 100). <code>next</code> is the
<code>cursor</code> of the page after, and null on the last page. With a filter a page may have few rows, or none, although
another one follows.</p>`,
      code: [codeBlock('Two pages', secondPage(base)), codeBlock('TypeScript', everyPage)],
    },
    {
      id: 'rate-limits',
      title: 'Rate limits',
      text: html`<p>By default a key has 60 calls a minute for each first segment of the path, such as <code>/contacts</code>; <code>/webhooks</code> has 30.
The headers of each response say what is left. After a 429, wait for the seconds of <code>Retry-After</code>. Monthly quotas of the plan also answer 429.</p>`,
      code: codeBlock('Too many calls', limited),
    },
  ]
}

/** Returns the section on events that comes before their payloads. */
export const eventsGuide = (): GuideSection => ({
  id: 'events',
  title: 'Events',
  text: html`<p>Subscribe a URL with <a href="#createWebhook">POST /webhooks</a>. Each event is a POST with the body
<code>{ id, type, createdAt, data }</code>. Answer 2xx within 5 seconds. Otherwise it is sent again: at most 8 attempts in about 7 hours. A 410
ends the subscription. Delivery is at least once: ignore an <code>id</code> that you have processed.</p>
<h3 id="verify">Verify a signature</h3>
<p><code>${signatureHeader}</code> is <code>v1=</code> and the hex HMAC-SHA256 of <code>&lt;timestamp&gt;.&lt;raw body&gt;</code> under the signing secret,
with the timestamp of <code>${timestampHeader}</code> in Unix seconds. Compare it with each part between commas in constant time, and refuse
timestamps that are more than five minutes off. <code>${idempotencyKeyHeader}</code> is the <code>id</code> of the event.</p>
<h3 id="event-types">Types</h3>
${table(
  ['Type', 'Fires when'],
  eventTypes.map((type) => [
    html`<a href="#${eventId(type)}"><code>${type.split('.').map((part, n) => [n > 0 && html`.<wbr>`, part])}</code></a>`,
    marked(firesWhen[type]),
  ]),
)}`,
  code: [codeBlock('Receive events in TypeScript', receiver), codeBlock('Verify in Python', verifier)],
})

export const eventId = (type: string): string => `event-${type.replace(/\W/g, '-')}`

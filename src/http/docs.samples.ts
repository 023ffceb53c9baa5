import { componentOf } from './docs.fields.ts'
import type { JsonSchema, OpenApi, Operation } from './openapi.ts'

/** An operation of the document with its method and path. */
export interface LocatedOperation extends Operation {
  method: string
  path: string
}

const sampledAt = 1_767_225_600_000

const sender = { email: 'team@northwind.example', name: 'Northwind' }

const numbers = {
  sent: 1_196,
  failed: 2,
  cancelled: 0,
  suppressed: 6,
  bounced: 6,
  complained: 0,
  delivered: 1_190,
  opened: 534,
  clicked: 162,
  answered: 41,
  unsubscribed: 5,
}

/** Values of properties in samples, by name, or by owner and name: the owner is a component or an operation. */
const values: Readonly<Record<string, unknown>> = {
  email: 'ada.okafor@northwind.example',
  to: 'ada.okafor@northwind.example',
  replyTo: 'team@northwind.example',
  createdAt: sampledAt,
  updatedAt: sampledAt,
  sentAt: sampledAt + 1_250,
  scheduledAt: sampledAt + 86_400_000,
  startedAt: null,
  endedAt: null,
  answeredAt: sampledAt,
  lastDeliveryAt: sampledAt,
  listId: 'lst_…',
  segmentId: 'seg_…',
  apiKeyId: 'key_…',
  projectId: 'prj_…',
  topicId: null,
  courseId: 'crs_…',
  subscriberId: 'sub_…',
  rowId: 'row_…',
  where: 'plan = pro and opened < 30d',
  error: null,
  next: null,
  limit: 100,
  token: '<token>',
  url: 'https://example.com/hooks',
  date: '2026-01-01',
  rate: 600,
  capacity: 100,
  registeredCount: 42,
  waitlistedCount: 0,
  duplicate: false,
  secret: 'whsec_…',
  joinUrl: 'https://svc.example.com/join/…',
  portalUrl: 'https://svc.example.com/academy/crs_…/embed?token=…',
  subject: 'News of October',
  'ContactList.id': 'lst_…',
  'ContactList.name': 'Customers',
  'ContactList.fields': ['first_name', 'company', 'plan'],
  'ContactList.rowCount': 1_204,
  'ContactUpsertResult.created': 1,
  'Segment.id': 'seg_…',
  'Segment.name': 'Active customers',
  'SegmentDetail.id': 'seg_…',
  'SegmentDetail.name': 'Active customers',
  'SegmentDetail.count': 318,
  'SendResult.id': 'msg_…',
  'SendResult.status': 'sent',
  'BroadcastTest.id': 'msg_…',
  'BroadcastTest.status': 'sent',
  'SendRecord.id': 'msg_…',
  'SendRecord.subject': 'Your receipt',
  'SendRecord.status': 'sent',
  'SendRecord.scheduledAt': null,
  'SendRecord.bounced': false,
  'Suppression.reason': 'unsubscribed',
  'Suppression.topic': null,
  'Topic.id': 'top_…',
  'Topic.name': 'Newsletter',
  'Topic.description': 'Once a month',
  'Preferences.topics': { 'top_…': true },
  'Broadcast.id': 'bct_…',
  'Broadcast.name': 'October',
  'Broadcast.from': sender,
  'Broadcast.projectVersion': null,
  'Broadcast.scheduledAt': null,
  'BroadcastDetail.id': 'bct_…',
  'BroadcastDetail.name': 'October',
  'BroadcastDetail.status': 'done',
  'BroadcastDetail.from': sender,
  'BroadcastDetail.projectVersion': 3,
  'BroadcastDetail.scheduledAt': null,
  'BroadcastDetail.recipients': 1_204,
  'BroadcastDetail.sent': 1_196,
  'BroadcastDetail.failed': 2,
  'BroadcastDetail.suppressed': 6,
  'BroadcastDetail.startedAt': sampledAt,
  'BroadcastDetail.endedAt': sampledAt + 130_000,
  'BroadcastDetail.rates': {
    opened: 0.449,
    clicked: 0.136,
    answered: 0.034,
    unsubscribed: 0.004,
    bounced: 0.005,
    complained: 0,
  },
  'BroadcastDetail.average': null,
  ...Object.fromEntries(Object.entries(numbers).map(([name, count]) => [`BroadcastResults.${name}`, count])),
  'BroadcastResults.links': [{ url: 'https://northwind.example/autumn', clicks: 190, people: 162 }],
  'BroadcastResults.days': [{ date: '2026-01-01', ...numbers }],
  'BroadcastTest.projectVersion': 3,
  'createWebhook.id': 'whk_…',
  'reportEvent.id': 'act_…',
  'reportEvent.journeys': 1,
  'Pipeline.id': 'pipe_…',
  'Pipeline.name': 'Sales',
  'Pipeline.stages': [
    { id: 'stg_…', name: 'New', kind: 'open' },
    { id: 'stg_…', name: 'Won', kind: 'won' },
  ],
  'Journey.id': 'jrn_…',
  'Journey.name': 'Welcome series',
  'Journey.triggerKind': 'api',
  'Webinar.id': 'web_…',
  'Webinar.title': 'Spring launch',
  'WebhookSubscription.id': 'whk_…',
  'WebhookSubscription.createdVia': 'api',
  'WebhookSubscription.events': ['deal.created', 'deal.stage_changed'],
  'LiveView.project': { id: 'prj_…', name: 'Spring newsletter' },
  'LiveView.theme': { primary: '#1f4fbf' },
  'LiveView.blocks': [{ id: 'rate-us', type: 'rating', props: { question: 'How was it?' } }],
  'LiveView.recipient': { id: 'msg_…', fields: { first_name: 'Ada' } },
  'LiveView.state': { 'rate-us': { kind: 'rating', value: 4, answeredAt: sampledAt } },
}

/** The ids of paths, by the first segment of the path. */
const ids: Readonly<Record<string, string>> = {
  lists: 'lst_…',
  segments: 'seg_…',
  sends: 'msg_…',
  broadcasts: 'bct_…',
  deals: 'deal_…',
  journeys: 'jrn_…',
  webinars: 'web_…',
  courses: 'crs_…',
  webhooks: 'whk_…',
}

/** Shortens the random part of ids. */
const shortIds = <T>(json: T): T => JSON.parse(JSON.stringify(json).replace(/"([a-z]{3,4})_[0-9a-z]{20,}"/g, '"$1_…"'))

/** Optional properties that a sample of a response shows. */
const shown: readonly string[] = ['contact', 'apiKeyId', 'lastDeliveryAt']

/** Returns a sample of a response, or of a component. */
export const sampleOf = (document: OpenApi, schema: JsonSchema, name = '', owner = ''): unknown => {
  const given = [`${owner}.${name}`, name].find((key) => Object.hasOwn(values, key))
  if (given !== undefined) return values[given]
  const component = componentOf(schema)
  if (component) {
    const event = Object.values(document.webhooks as Record<string, Webhook>).find(
      ({ post }) => componentOf(post.requestBody.content['application/json'].schema) === component,
    )
    if (event) return shortIds(event.post.requestBody.content['application/json'].example)
    const { contact, deal } = dataOf(document, component === 'Deal' ? 'deal.created' : 'contact.created')
    if (component === 'Contact') return contact
    if (component === 'Deal') return deal
    if (component === 'WebhookEvent') return sampleOf(document, { $ref: '#/DealCreatedEvent' })
    return sampleOf(document, document.components.schemas[component]!, '', component)
  }
  const { type, enum: choices, properties, required = [], items, anyOf, default: fallback, format } = schema
  if ('const' in schema) return schema.const
  if (fallback !== undefined) return fallback
  if (Array.isArray(choices)) return choices[0]
  if (properties)
    return Object.fromEntries(
      Object.entries(properties as Record<string, JsonSchema>)
        .filter(([key]) => (required as string[]).includes(key) || shown.includes(key))
        .map(([key, value]) => [key, sampleOf(document, value, key, name ? `${owner}.${name}` : owner)]),
    )
  if (items) return [sampleOf(document, items as JsonSchema, '', owner)]
  if (Array.isArray(anyOf)) return sampleOf(document, anyOf[0], name, owner)
  const [first] = [type].flat()
  if (first === 'object') return {}
  if (first === 'boolean') return true
  if (first === 'integer' || first === 'number') return 0
  return format === 'uri' ? 'https://example.com' : name === 'id' ? '…' : name
}

export interface Webhook {
  post: {
    summary: string
    parameters: Operation['parameters'] & object
    requestBody: { content: { 'application/json': { schema: JsonSchema; example: { data: Record<string, unknown> } } } }
  }
}

const dataOf = ({ webhooks }: OpenApi, type: string): Record<string, unknown> =>
  shortIds((webhooks[type] as Webhook).post.requestBody.content['application/json'].example.data)

export const pretty = (json: unknown): string => JSON.stringify(json, null, 2)

export const bodySchema = ({ requestBody }: Operation): JsonSchema | undefined =>
  requestBody?.content['application/json'].schema

export const examplesOf = (schema: JsonSchema | undefined): unknown[] =>
  Array.isArray(schema?.examples) ? schema.examples : []

/** A sample call: what each language writes in its own way. */
interface SampleCall {
  method: string
  /** Relative to `/api/v1`, with `{names}`. */
  path: string
  pathValues: Record<string, string>
  query: Record<string, string>
  body: unknown
  isOpen: boolean
  idempotencyKey: string | undefined
}

const sampleCall = ({ method, path, parameters = [], security, ...operation }: LocatedOperation): SampleCall => {
  const valuesIn = (place: string) =>
    Object.fromEntries(
      parameters
        .filter((one) => one.in === place && one.required)
        .map(({ name }) => [name, name === 'id' ? ids[path.split('/')[3]!]! : String(values[name])]),
    )
  const isKeyed = parameters.some(({ name }) => name === 'Idempotency-Key')
  return {
    method,
    path: path.replace('/api/v1', ''),
    pathValues: valuesIn('path'),
    query: valuesIn('query'),
    body: examplesOf(bodySchema({ ...operation, security } as Operation))[0],
    isOpen: security.length === 0,
    idempotencyKey: isKeyed ? 'order-4711' : undefined,
  }
}

const urlOf = (base: string, { path, pathValues, query }: SampleCall): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => pathValues[name]!)
  return `${base}/api/v1${filled}${Object.entries(query).length > 0 ? `?${new URLSearchParams(query)}` : ''}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const curl = (base: string, call: SampleCall): string => {
  const { method, body, isOpen, idempotencyKey } = call
  const verb = method === (body === undefined ? 'get' : 'post') ? '' : `-X ${method.toUpperCase()} `
  const url = urlOf(base, call)
  return [
    `curl ${verb}${/[?<>]/.test(url) ? quoted(url) : url}`,
    ...(isOpen ? [] : ['-H "Authorization: Bearer $SVC_API_KEY"']),
    ...(idempotencyKey ? [`-H 'Idempotency-Key: ${idempotencyKey}'`] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(pretty(body))}`]),
  ].join(' \\\n  ')
}

/** Renders a value as a literal of TypeScript. */
const literal = (value: unknown, indent = ''): string => {
  if (typeof value === 'string') return /['\\\n]/.test(value) ? JSON.stringify(value) : `'${value}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const entries = Array.isArray(value)
    ? value.map((one) => literal(one, inner))
    : Object.entries(value).map(
        ([key, one]) => `${/^[a-z_]\w*$/i.test(key) ? key : `'${key}'`}: ${literal(one, inner)}`,
      )
  return entries.length === 0
    ? `${open}${close}`
    : `${open}\n${entries.map((one) => `${inner}${one},\n`).join('')}${indent}${close}`
}

const typescript = (base: string, { method, path, pathValues, query, body, idempotencyKey }: SampleCall): string => {
  const input = [
    ...(Object.keys(pathValues).length > 0 ? [`  path: ${literal(pathValues, '  ')},`] : []),
    ...(Object.keys(query).length > 0 ? [`  query: ${literal(query, '  ')},`] : []),
    ...(body === undefined ? [] : [`  body: ${literal(body, '  ')},`]),
    ...(idempotencyKey ? [`  idempotencyKey: '${idempotencyKey}',`] : []),
  ]
  return `import { createClient } from 'svcd-engagement-client'

const svc = createClient({
  baseUrl: '${base}',
  key: process.env.SVC_API_KEY!,
})
const result = await svc.${method}('${path}'${input.length > 0 ? `, {\n${input.join('\n')}\n}` : ''})`
}

const pythonLiteral = (value: unknown): string =>
  pretty(value)
    .replace(/: true\b/g, ': True')
    .replace(/: false\b/g, ': False')
    .replace(/: null\b/g, ': None')
    .replaceAll('\n', '\n    ')

const python = (base: string, call: SampleCall): string => {
  const { method, body, isOpen, idempotencyKey } = call
  const headers = [
    ...(isOpen ? [] : [`"Authorization": f"Bearer {os.environ['SVC_API_KEY']}"`]),
    ...(idempotencyKey ? [`"Idempotency-Key": "${idempotencyKey}"`] : []),
  ]
  return `${isOpen ? '' : 'import os\n\n'}import requests

response = requests.${method}(
    "${urlOf(base, call)}",
${headers.length > 0 ? `    headers={${headers.length > 1 ? `\n        ${headers.join(',\n        ')},\n    ` : headers[0]}},\n` : ''}${
  body === undefined ? '' : `    json=${pythonLiteral(body)},\n`
}    timeout=30,
)
response.raise_for_status()
print(response.json())`
}

export const languages = ['curl', 'TypeScript', 'Python'] as const

export const samplesOf = (base: string, operation: LocatedOperation): Record<(typeof languages)[number], string> => {
  const call = sampleCall(operation)
  return { curl: curl(base, call), TypeScript: typescript(base, call), Python: python(base, call) }
}

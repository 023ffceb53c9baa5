import { type Context, requireNoPage } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { argument, type FlagValues, followed, needed, paged, repeated, text } from '../cli/flags.ts'
import { parse, readSecret, readText } from '../cli/input.ts'
import { type Column, jsonText, type Output, properties } from '../cli/output.ts'
import type { newEvents } from '../deliveries/deliveries.ts'
import type { EmittedEvent, EventType } from '../events/events.ts'
import type { WebhookEvent } from '../events/shapes.ts'
import type { PageFlags } from '../lib/page-request.ts'
import { Problem, shown } from '../lib/problem.ts'
import { parseSince } from '../lib/since.ts'

/** The event types, loaded at their first use. */
export const eventTypes = async () => (await import('../events/events.ts')).eventTypes

const columns = properties<EmittedEvent>('id', 'type', 'createdAt')

/** Columns of `--follow`: the time of day, and as much of the data as fits. */
const followColumns: Column<EmittedEvent>[] = [
  ['TIME', (event) => new Date(event.createdAt).toTimeString().slice(0, 8)],
  ...properties<EmittedEvent>('id', 'type'),
  ['DATA', (event) => JSON.stringify(event.data)],
]

const eventName = async (name: string): Promise<EventType> => {
  const { EventName } = await import('../events/shapes.ts')
  return parse(EventName, name, 'type')
}

const signingSecret = async ({ out }: Context, file: string | undefined): Promise<string> => {
  if (file === undefined) {
    const secret = (await import('../lib/signature.ts')).newSigningSecret()
    out.note(`Signed with a new secret: ${secret}`)
    return secret
  }
  const secret = (await readSecret(file, '--secret-file', null))!.trim()
  if (secret === '') throw new Problem('usage', '--secret-file holds no secret')
  return secret
}

const readData = async (option: string, out: Output): Promise<unknown> => {
  const text = await readText(option, '--data', out)
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem('usage', `${/^[@-]/.test(option) ? 'The file of --data' : '--data'} is not valid JSON`)
  }
}

const pathAndValue = (option: string): [path: string, value: string] => {
  const at = option.indexOf('=')
  if (at < 1) throw new Problem('usage', `--set takes path=value, such as data.deal.value=9, not ${shown(option)}`)
  return [option.slice(0, at), option.slice(at + 1)]
}

const sendFlags = {
  to: needed('<url>', 'the URL, which may be on this machine'),
  secretFile: text('<file>', 'the signing secret, - for stdin (default: a new one)'),
  set: repeated('<path=value>', 'change a value, such as data.deal.value=9'),
  data: text('<@file|-|text>', 'the data as JSON: from a file, from standard input, or given here'),
}

type SendOptions = FlagValues<typeof sendFlags>

const buildEvent = async (
  type: EventType,
  { set, data }: SendOptions,
  nowMs: number,
  out: Output,
): Promise<WebhookEvent> => {
  const { sampleEvent } = await import('../events/samples.ts')
  const { overrideData, replaceData } = await import('../events/override.ts')
  const sample: WebhookEvent = sampleEvent(type, { now: nowMs, test: true })
  const event = data === undefined ? sample : replaceData(sample, await readData(data, out))
  return overrideData(event, set.map(pathAndValue))
}

const send = async (context: Context, name: string, options: SendOptions): Promise<void> => {
  const { out, exit, signal } = context
  if (options.secretFile === '-' && (options.data === '-' || options.data === '@-')) {
    throw new Problem('usage', 'Only one of --secret-file and --data can be read from stdin')
  }
  const { parseTarget, sendEvent } = await import('./webhooks.send.ts')
  const { parseServers } = await import('../net/resolver.ts')
  const target = parseTarget(options.to)
  const dnsServers = parseServers(process.env.SVC_DNS_SERVERS ?? '')
  const nowMs = Date.now()
  const event = await buildEvent(await eventName(name), options, nowMs, out)
  const secret = await signingSecret(context, options.secretFile)
  const outcome = await sendEvent(event, target, secret, nowMs, dnsServers, signal)
  const { ok, status, error, durationMs, snippet, stopped } = outcome
  if (stopped) return
  if (out.isJson) out.one({ status, ms: durationMs, error, answer: snippet, event })
  else {
    out.line(out.format === 'ids' ? event.id : `→ ${status ?? error} in ${durationMs} ms`)
  }
  if (ok) return
  out.failure(error ?? `answered ${status}`, `svc events sample ${name}`)
  exit(1)
}

const follow = async (context: Context, filter: Parameters<typeof newEvents>[0], flags: PageFlags): Promise<void> => {
  requireNoPage(flags)
  const { account, app, out, work } = context
  const { deliveriesChannel, newEvents } = await import('../deliveries/deliveries.ts')
  await account()
  const readNew = newEvents(filter, filter.since ?? app.now().getTime())
  const write = out.stream(out.format === 'table' ? followColumns : columns)
  await context.follow(deliveriesChannel, async () => write(await work(readNew)))
}

export const commands: CommandList = [
  command({
    path: 'events list',
    isDefault: true,
    summary: 'List stored events, newest first: those that a webhook subscribed to',
    examples: ['svc events --type deal.created --since 2h', 'svc events list --follow'],
    flags: {
      type: text('<type>', 'only events of this type', { of: eventTypes }),
      since: text('<age|time>', 'only events since, such as 2h or 2026-11-20T08:00:00Z'),
      ...paged,
      ...followed,
    },
    run: async (context, options) => {
      const { app, pages, timezone, work } = context
      const { EventFilter, listEvents } = await import('../deliveries/deliveries.ts')
      const { type, since } = options
      const start = since !== undefined ? { since: parseSince(since, app.now().getTime(), await timezone()) } : {}
      const filter = await parse(EventFilter, { type, ...start })
      if (options.follow) return follow(context, filter, options)
      await pages('events', options, (page) => work((w) => listEvents(w, filter, page)), columns)
    },
  }),

  command({
    path: 'events show',
    summary: 'Show an event as it is delivered',
    examples: [
      'svc events show evt_01m82xgxtaz6yjc71bkr9q55b6',
      'svc events show evt_01m82xgxtaz6yjc71bkr9q55b6 --json',
    ],
    arguments: [argument('<id>')],
    run: async ({ out, work }, id) => {
      const { showEvent } = await import('../deliveries/deliveries.ts')
      out.one(await work((w) => showEvent(w, id)))
    },
  }),

  command({
    path: 'events types',
    summary: 'List the event types and when they fire',
    examples: ['svc events types', 'svc events types --json'],
    app: 'none',
    run: async ({ out }) => {
      const { firesWhen } = await import('../events/events.ts')
      const types = Object.entries(firesWhen).map(([type, when]) => ({ type, firesWhen: when.replaceAll('`', '') }))
      await out.list('types', types, [
        ['TYPE', (row) => row.type],
        ['FIRES WHEN', (row) => row.firesWhen],
      ])
    },
  }),

  command({
    path: 'events sample',
    summary: 'Print a sample of a type, or of each type, in the shape of real deliveries',
    examples: ['svc events sample deal.created', 'svc events sample > samples.json'],
    arguments: [argument('[type]', '', { of: eventTypes })],
    app: 'none',
    run: async ({ out }, name) => {
      const { sampleEvent } = await import('../events/samples.ts')
      const now = Date.now()
      const samples = (name === undefined ? await eventTypes() : [await eventName(name)]).map((type) =>
        sampleEvent(type, { now }),
      )
      // A table has no room for the body, which is the point of a sample.
      if (out.isText) {
        for (const event of samples) out.line(jsonText(event, 2))
      } else if (name === undefined) await out.list('events', samples, [])
      else out.one(samples[0]!)
    },
  }),

  command({
    path: 'events send',
    summary: 'Sign a sample with test: true inside data and post it to any URL; fails unless the answer is 2xx',
    examples: [
      'svc events send deal.created --to http://localhost:3000/hook',
      'svc events send deal.created --to http://localhost:3000/hook --set data.deal.value=9 --secret-file secret.txt',
    ],
    arguments: [argument('<type>', '', { of: eventTypes })],
    flags: sendFlags,
    app: 'none',
    run: send,
  }),
]

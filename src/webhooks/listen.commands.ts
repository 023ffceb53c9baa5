import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { type FlagValues, present, text } from '../cli/flags.ts'
import { jsonText, printable } from '../cli/output.ts'
import type { EventType } from '../events/events.ts'
import { Problem, shown } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import { eventTypes } from './events.commands.ts'
import type { ListenSummary, ReceivedDelivery, Reply } from './listen.ts'

const listenFlags = {
  forwardTo: text('<url>', 'forward each delivery unchanged and return the answer'),
  events: text('<types>', 'only these event types, separated by commas', {
    of: eventTypes,
    isMany: true,
  }),
  reply: text('<statuses>', 'answer 200, or 500,500,200 in turn, or timeout'),
  printSecret: present('print the signing secret first'),
  port: text('<n>', 'the port on 127.0.0.1 (default: a free one)'),
}

type Options = FlagValues<typeof listenFlags>

const parsePort = (text: string): number => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new Problem('usage', `--port takes a number up to 65535, not ${shown(text)}`)
}

const parseEvents = async (text: string): Promise<EventType[]> => {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const known = await eventTypes()
  const unknown = names.filter((name) => !known.includes(name as EventType))
  if (unknown.length === 0) return names as EventType[]
  throw new Problem('usage', `There is no event type ${shown(unknown.join(', '))}`, { hint: 'svc events types' })
}

const parseForward = (text: string): URL => {
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Problem('usage', `--forward-to takes a URL like http://localhost:3000/hook, not ${shown(text)}`)
}

const replyOf = (text: string): number | null => {
  if (text === 'timeout') return null
  if (/^[2-5]\d\d$/.test(text)) return Number(text)
  throw new Problem('usage', `--reply takes statuses from 200 to 599 or timeout, not ${shown(text) || 'nothing'}`, {
    hint: 'svc listen --reply 500,500,200',
  })
}

/** Parses `500,500,200`: each delivery gets the next reply, and after the last one the last reply again. */
const parseReplies = (text: string): Reply => {
  const replies = text.split(',').map((part) => replyOf(part.trim()))
  let next = 0
  return () => replies[Math.min(next++, replies.length - 1)]!
}

const clock = (at: number, isTerminal: boolean): string => {
  const time = new Date(at)
  return isTerminal ? time.toTimeString().slice(0, 8) : time.toISOString()
}

const remarks = ({ verified, verdict, duplicate, error }: ReceivedDelivery): string =>
  [!verified && `not verified: ${verdict}`, duplicate && 'repeat', error]
    .filter(Boolean)
    .map((remark) => `  (${remark})`)
    .join('')

const printer = ({ out }: Context) => {
  if (out.isJson) return (heard: ReceivedDelivery) => out.line(jsonText(heard))
  if (out.format === 'ids') return (heard: ReceivedDelivery) => out.line(printable(heard.id))
  return (heard: ReceivedDelivery) => {
    const { at, type, id, status, ms } = heard
    const answer = status === null ? 'no answer' : `${status} in ${ms} ms`
    out.line(`${clock(at, out.isTerminal)} ${printable(`${type || '?'} ${id || '?'} → ${answer}${remarks(heard)}`)}`)
  }
}

const summaryText = ({ events, distinct, notVerified }: ListenSummary): string =>
  `${quantity(events, 'event')}, ${number(distinct)} distinct, ${number(notVerified)} not verified`

const run = async (context: Context, options: Options): Promise<void> => {
  const { app, out } = context
  if (options.forwardTo !== undefined && options.reply !== undefined) {
    throw new Problem('usage', 'Give either --forward-to, whose answer is returned, or --reply')
  }
  const forwardTo = options.forwardTo === undefined ? null : parseForward(options.forwardTo)
  const events = options.events === undefined ? null : await parseEvents(options.events)
  const port = parsePort(options.port ?? '0')
  const reply = parseReplies(options.reply ?? '200')
  const { listen } = await import('./listen.ts')
  const account = await context.account()
  let isReady = false
  const handlers = {
    ready: ({ webhookId, secret }: { webhookId: string; secret: string }) => {
      isReady = true
      if (options.printSecret) {
        if (out.isJson) out.one({ secret })
        else if (out.format === 'ids') out.note(`secret: ${secret}`)
        else out.line(secret)
        out.note('This secret signs deliveries to this command, until it ends.')
      }
      const to = forwardTo ? `, forwarded to ${forwardTo.href}` : ''
      out.note(`Ready: deliveries of ${printable(account.name)} arrive here${to} (${webhookId}). Press Ctrl-C to stop.`)
    },
    delivery: printer(context),
    notice: out.note,
    signal: context.signal,
  }
  const summary = await listen(app, account.id, context.actor, { port, events, reply, forwardTo }, handlers).catch(
    (error) => {
      if (error.code !== 'EADDRINUSE') throw error
      throw new Problem('configuration', `Port ${port} is taken`, {
        hint: 'choose another port with --port, or omit it',
      })
    },
  )
  if (!isReady) return
  if (summary.ended) out.note(summary.ended)
  out.note(summaryText(summary))
  // An interruption is the normal end; the end of the subscription is a failure.
  context.exit(summary.ended ? 1 : 0)
}

export const commands: CommandList = [
  command({
    path: 'listen',
    examples: [
      'svc listen --forward-to http://localhost:3000/hook',
      'svc listen --events deal.created --reply 500,500,200',
    ],
    flags: listenFlags,
    run: (context, options) => run(context, options),
  }),
]

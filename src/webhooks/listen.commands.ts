import type { CommandSet, Context } from '../cli/command.ts'
import { printable } from '../cli/output.ts'
import { type EventType, eventTypes } from '../events/types.ts'
import { Problem } from '../lib/problem.ts'
import type { Heard, Heeded } from './listen.ts'

interface Options {
  forwardTo?: string
  events?: string
  reply?: string
  printSecret?: boolean
  port?: string
}

const parsePort = (text: string): number => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new Problem('usage', `--port takes a number up to 65535, not ${text}`)
}

const parseEvents = (text: string): EventType[] => {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const unknown = names.filter((name) => !eventTypes.includes(name as EventType))
  if (unknown.length === 0) return names as EventType[]
  throw new Problem('usage', `There is no event type ${unknown.join(', ')}`, { hint: 'svc events types' })
}

const parseForward = (text: string): URL => {
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Problem('usage', `--forward-to takes a URL like http://localhost:3000/hook, not ${text}`)
}

const clock = (at: number, isTerminal: boolean): string => {
  const time = new Date(at)
  return isTerminal ? time.toTimeString().slice(0, 8) : time.toISOString()
}

const remarks = ({ verified, verdict, duplicate, error }: Heard): string =>
  [!verified && `not verified: ${verdict}`, duplicate && 'repeat', error]
    .filter(Boolean)
    .map((remark) => `  (${remark})`)
    .join('')

const printer = ({ out }: Context) => {
  if (out.format === 'json' || out.format === 'jsonl') return (heard: Heard) => out.line(JSON.stringify(heard))
  if (out.format === 'ids') return (heard: Heard) => out.line(printable(heard.id))
  return (heard: Heard) => {
    const { at, type, id, status, ms } = heard
    const answer = status === null ? 'no answer' : `${status} in ${ms} ms`
    out.line(`${clock(at, out.isTerminal)} ${printable(`${type || '?'} ${id || '?'}`)} → ${answer}${remarks(heard)}`)
  }
}

const number = (n: number): string => n.toLocaleString('en-US')
const summary = ({ events, different, notVerified }: Heeded): string =>
  `${number(events)} ${events === 1 ? 'event' : 'events'}, ${number(different)} different, ${number(notVerified)} not verified`

const run = async (context: Context, options: Options): Promise<void> => {
  const { app, out } = context
  if (options.forwardTo !== undefined && options.reply !== undefined) {
    throw new Problem('usage', 'Give either --forward-to, whose answer is passed back, or --reply')
  }
  const forwardTo = options.forwardTo === undefined ? null : parseForward(options.forwardTo)
  const events = options.events === undefined ? null : parseEvents(options.events)
  const port = parsePort(options.port ?? '0')
  const [{ listen }, { parseReplies }] = await Promise.all([import('./listen.ts'), import('./listen.replies.ts')])
  const reply = parseReplies(options.reply ?? '200')
  const account = await context.account()
  let isReady = false
  const hearing = {
    ready: ({ webhookId, secret }: { webhookId: string; secret: string }) => {
      isReady = true
      if (options.printSecret) {
        out.line(secret)
        out.note('This secret signs what comes here. It ends with this command.')
      }
      const to = forwardTo ? `, handed on to ${forwardTo.href}` : ''
      out.note(`Ready: deliveries of ${printable(account.name)} arrive here${to} (${webhookId}). Ctrl-C ends it.`)
    },
    delivery: printer(context),
    notice: out.note,
    signal: context.signal,
  }
  const heeded = await listen(app, account.id, context.actor, { port, events, reply, forwardTo }, hearing).catch(
    (error) => {
      if (error.code !== 'EADDRINUSE') throw error
      throw new Problem('configuration', `Port ${port} is taken`, { hint: 'name another with --port, or none' })
    },
  )
  if (!isReady) return
  if (heeded.ended) out.note(heeded.ended)
  out.note(summary(heeded))
  // To be told to stop is how it ends; that it could not go on is a failure.
  context.exit(heeded.ended ? 1 : 0)
}

export const commands: CommandSet = (cli) => {
  cli
    .noun('listen')
    .option('--forward-to <url>', 'hand each delivery on, untouched, and pass the answer back')
    .option('--events <types>', 'only these, comma-separated')
    .option('--reply <statuses>', 'answer 200, or 500,500,200 in turn, or timeout', undefined)
    .option('--print-secret', 'print the signing secret first')
    .option('--port <n>', 'the port on 127.0.0.1; a free one unless given')
    .action(cli.run((context, options: Options) => run(context, options)))
}

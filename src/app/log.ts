import { isatty } from 'node:tty'
import { destination, type Logger, pino } from 'pino'
import type { Config } from './config.ts'
import { textOf } from './log.text.ts'

/** Of a fault whatever may name a person or open something: addresses, keys, what follows the path of a URL. */
const mask = (text: string): string =>
  text
    .replace(/(\w+:\/\/[^\s?#"']*)[?#][^\s"']*/g, '$1')
    .replace(/[^\s@"'`<>()=,;]+@[^\s@"'`<>()=,;]+/g, '…')
    .replace(/\b(svc_live_|whsec_)[\w-]+/g, '$1…')

/** PostgreSQL quotes what it could not take (class 22): a part of a body. */
const unquote = (text: string, code: unknown): string =>
  String(code).startsWith('22') ? text.replace(/"[^"]*"/g, '"…"') : text

const { err: standard } = pino.stdSerializers

/** Where a fault was and what it says, masked. What else it carries stays here: rows, statements, answers of relays. */
const err = (fault: unknown): object => {
  if (!(fault instanceof Error)) return { type: typeof fault, message: mask(String(fault)) }
  const { type, message, stack, code, constraint, table } = standard(fault) as ReturnType<typeof standard> &
    Record<string, unknown>
  const masked = (text: string) => unquote(mask(text), code)
  return { type, message: masked(message), stack: masked(stack), code, constraint, table }
}

export const serializers = { err }

/**
 * Logs go to stderr, as stdout is for data: JSON lines, or text for people (`svc dev`). No key, token, body or address is
 * ever logged.
 */
export const createLogger = ({ logLevel: level, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>): Logger => {
  const stderr = destination({ fd: 2, sync: true })
  // A terminal that has closed takes no lines; what goes on goes on.
  stderr.on('error', () => {})
  if (logFormat === 'json') return pino({ level, serializers }, stderr)
  const isColoured = isatty(2) && !process.env.NO_COLOR
  const write = (line: string) => {
    const text = textOf(line, isColoured)
    if (text) stderr.write(text)
  }
  return pino({ level, serializers }, { write })
}

/*
 * Requests are logged by their route. Addresses of pages contain tokens. PostgreSQL's details and answers of relays
 * quote names of people. A request's line has its route, status, duration, account and key id. Of an error, kind, text
 * and place are logged, masked, and nothing else. Logs have no ids of resources, and an error's line has no row.
 */

import { isatty } from 'node:tty'
import { destination, type Logger, pino } from 'pino'
import type { Config } from '../config.ts'
import { textOf } from './log.text.ts'

/** Masks personal data and secrets in the text of an error: addresses, keys, everything after the path of a URL. */
const mask = (text: string): string =>
  text
    .replace(/(:\/\/[^\s?#"']*)[^\s"']*/g, '$1')
    // Matches every word, also without @: otherwise the search would start again at each character of a long word.
    .replace(/[^\s@"'`<>()=,;]+(@[^\s@"'`<>()=,;]+)?/g, (word, domain) => (domain ? '…' : word))
    .replace(/\b(svc_live_|whsec_)[\w-]+/g, '$1…')

/** Masks quoted values: errors of class 22 (data exceptions) quote the invalid value, which is part of a request. */
const unquote = (text: string, code: unknown): string =>
  String(code).startsWith('22') ? text.replace(/"[^"]*"/g, '"…"') : text

const { err: standard } = pino.stdSerializers

/** Returns the type, masked message and stack of an error. Drops other properties: rows, statements, answers of relays. */
const err = (fault: unknown): object => {
  if (!(fault instanceof Error)) return { type: typeof fault, message: mask(String(fault)) }
  const { type, message, stack, code, constraint, table } = standard(fault) as ReturnType<typeof standard> &
    Record<string, unknown>
  const masked = (text: string) => unquote(mask(text), code)
  return { type, message: masked(message), stack: masked(stack), code, constraint, table }
}

export const serializers = { err }

/**
 * Creates the logger. It writes to stderr, since stdout is for data: JSON lines, or text for people (`svc dev`). Keys, tokens,
 * bodies and addresses are never logged.
 */
export const createLogger = ({ logLevel: level, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>): Logger => {
  const stderr = destination({ fd: 2, sync: true })
  // Ignore write errors: a closed terminal must not stop the daemon.
  stderr.on('error', () => {})
  if (logFormat === 'json') return pino({ level, serializers }, stderr)
  const isColoured = isatty(2) && !process.env.NO_COLOR
  const write = (line: string) => {
    const text = textOf(line, isColoured)
    if (text) stderr.write(text)
  }
  return pino({ level, serializers }, { write })
}

/*
 * The console is rendered by the server. The console shows text that strangers post. The server makes every page. When
 * something changes, an open page loads itself again and takes over the rows that differ. It is the same with and
 * without scripts, and text is escaped in one place. A few kilobytes for each change, on loopback.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OnAnswered } from '../../http/answered.ts'
import { readBody } from '../../net/loopback.ts'
import { type Arrival, openReceiver, type Receiver } from '../../webhooks/receiver.ts'
import { readMode } from '../catcher/catcher.ts'
import { act, type ConsoleClock } from './console.acts.ts'
import { createCalls, createDeliveries, createStream } from './console.feed.ts'
import { type ConsoleView, consoleDocument, consoleHeaders, type Surroundings } from './console.frame.ts'
import { checkLinks, linksOf } from './console.links.ts'
import { mailsView, mailTabs, mailView, mailWidths } from './console.mail.views.ts'
import { documentOf, openMails, originsOfImages } from './console.mails.ts'
import { consoleScript } from './console.script.ts'
import { consoleStyle } from './console.style.ts'
import { activityRows, activityView, callsView, noPage, webhooksView } from './console.views.ts'

const mailsOnPage = 100
const mailsBeside = 50
const formLimit = 4096
const keptChecks = 20
/** Requests of probes, scrapers and browsers, which the console does not list. */
const unlisted = ['/healthz', '/readyz', '/metrics', '/favicon.ico']

interface ConsoleOptions {
  port: number
  /** Paths of the daemon whose calls are not shown: the sample's pictures. */
  hiddenPaths: readonly string[]
  /** The secret part of the receiver's path. */
  token: string
  secret(): string | Promise<string>
  /** Returns the time of the database, as this process follows it. */
  now(): Date
  /** The data folder with the caught emails. */
  dataDir: string
  clock: ConsoleClock
  /** Returns how many messages the catcher holds, or null if email leaves by a relay. */
  held(): number | null
  /** Returns the origins of the daemon's pages: emails may load images from them, and links to them are svc's own. */
  daemonOrigins(): readonly string[]
}

export interface Console extends Receiver {
  /** Adds a request that the daemon has answered. */
  addCall: OnAnswered
}

/** Returns the policy of an email's document: no scripts, no forms, isolated from the surrounding page. */
const mailPolicy = (imageOrigins: readonly string[]): string =>
  [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data: ${imageOrigins.join(' ')}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ')

/**
 * Opens the console of `svc dev`. It receives webhooks (204, or 401 if the signature is wrong) and shows them, caught emails,
 * answered requests and the clock, on pages that update live if scripts run. Webhooks and requests are kept only in memory,
 * requests without keys and secrets.
 * It listens on loopback, only under its own host name (net/loopback.ts), and accepts forms only from its own pages. Rejects
 * with EADDRINUSE if the port is taken.
 */
export const openConsole = async (options: ConsoleOptions): Promise<Console> => {
  const { now, dataDir } = options
  const hiddenPaths = [...unlisted, ...options.hiddenPaths]
  const deliveries = createDeliveries()
  const calls = createCalls()
  const mails = openMails(dataDir)
  const nowMs = () => now().getTime()
  const mailState = () => {
    const held = options.held()
    return held === null ? null : { ...readMode(dataDir), held }
  }
  const stream = createStream(
    () => ({
      deliveries: String(deliveries.newest(0).total),
      calls: String(calls.newest(0).total),
      mail: `${mails.state()} ${JSON.stringify(mailState())}`,
      // Rounded: the estimated offset jitters by a few ms.
      clock: String(Math.round((nowMs() - Date.now()) / 1000)),
    }),
    consoleHeaders,
  )

  const surroundings = (path: string): Surroundings => ({
    now: nowMs(),
    offsetMs: nowMs() - Date.now(),
    mail: mailState(),
    path,
  })

  /** The statuses of the links of the emails that were checked last. */
  const checks = new Map<string, ReadonlyMap<string, number | null>>()
  const checkMail = async (id: string) => {
    const mail = await mails.show(id)
    if (!mail) return
    checks.delete(id)
    checks.set(id, await checkLinks(linksOf(mail.html ?? '', options.daemonOrigins())))
    if (checks.size > keptChecks) checks.delete(checks.keys().next().value!)
  }

  const viewMail = async (id: string, query: URLSearchParams, origins: readonly string[]) => {
    const mail = await mails.show(id)
    if (!mail) return noPage('This email no longer exists')
    const search = searchOf(query)
    const { brokenRules } = await import('./console.rules.ts')
    const look = {
      tab: mailTabs.find((tab) => tab === query.get('show')) ?? 'html',
      width: mailWidths.find((one) => one === query.get('width')) ?? 'full',
      blocked: originsOfImages(mail.html ?? '', origins),
      links: linksOf(mail.html ?? '', options.daemonOrigins()),
      broken: mail.html === null ? [] : [...new Set(brokenRules(mail.html))],
      checked: checks.get(id) ?? new Map(),
      search,
    }
    return mailView(mail, look, await mails.list(mailsBeside, { search }), nowMs())
  }

  const viewOf = async (path: string, query: URLSearchParams, origins: readonly string[]): Promise<ConsoleView> => {
    const search = searchOf(query)
    if (path === '/')
      return activityView(await mails.list(activityRows, { search }), deliveries, calls, search, nowMs())
    if (path === '/webhooks') return webhooksView(deliveries, search, nowMs())
    if (path === '/calls') return callsView(calls, search, nowMs())
    if (path === '/mail') {
      const page = await mails.list(mailsOnPage, { search, before: query.get('before') ?? '' })
      return mailsView(page, search, surroundings(path))
    }
    const [, id] = /^\/mail\/([^/]+)$/.exec(path) ?? []
    return id ? viewMail(id, query, origins) : noPage('Page not found')
  }

  /** Answers requests for files: parts of an email, style, script, JSON. Returns false for other paths. */
  const answerFile = async (path: string, response: ServerResponse, origins: readonly string[]): Promise<boolean> => {
    const answer = (type: string, body: string | Buffer, headers: Record<string, string> = {}) => {
      response.writeHead(200, { ...consoleHeaders, 'content-type': type, ...headers }).end(body)
      return true
    }
    if (path === '/page.css') return answer('text/css; charset=utf-8', consoleStyle)
    if (path === '/page.js') return answer('text/javascript; charset=utf-8', consoleScript)
    if (path === '/deliveries') return answer('application/json; charset=utf-8', JSON.stringify(deliveries.newest()))
    const [, id, part, nth] = /^\/mail\/([^/]+)\/(html|source|attachments\/(\d{1,4}))$/.exec(path) ?? []
    const mail = id ? await mails.show(id) : null
    if (!mail) return false
    const download = (name: string) => ({ 'content-disposition': `attachment; filename*=UTF-8''${encodeName(name)}` })
    if (part === 'html')
      return answer('text/html; charset=utf-8', documentOf(mail), {
        'content-security-policy': mailPolicy(origins),
        'referrer-policy': 'no-referrer',
      })
    if (part === 'source') return answer('message/rfc822', mail.raw, download(`${mail.id}.eml`))
    const attachment = mail.attachments[Number(nth)]
    return attachment ? answer('application/octet-stream', attachment.bytes, download(attachment.name)) : false
  }

  const read = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://console')
    if (path === '/stream' && request.method === 'GET') return stream.open(response)
    const origins = [`http://${request.headers.host}`, ...options.daemonOrigins()]
    if (await answerFile(path, response, origins)) return
    const view = await viewOf(path, query, origins)
    response
      .writeHead(view.status ?? 200, { ...consoleHeaders, 'content-type': 'text/html; charset=utf-8' })
      .end(consoleDocument(view, surroundings(path)))
  }

  const post = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    if (path.startsWith('/hook/')) return response.writeHead(404).end()
    const body = await readBody(request, formLimit)
    const ports = { dataDir, clock: options.clock, now, findMails: mails.find, checkLinks: checkMail }
    const answer = await act(request, path, body, ports)
    response.writeHead(answer.status, { ...consoleHeaders, ...answer.headers }).end(answer.text)
  }

  const otherwise = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'GET' || request.method === 'HEAD') await read(request, response)
    else if (request.method === 'POST') await post(request, response)
    else response.writeHead(405, { allow: 'GET, HEAD, POST' }).end()
  }

  const answer = (arrival: Arrival) => {
    const status = arrival.verdict === 'ok' ? 204 : 401
    deliveries.add(arrival, status)
    return { status }
  }

  const receiver = await openReceiver({ ...options, answer, otherwise })
  return {
    ...receiver,
    addCall: (answered, content) => {
      // Checks of links, also those of this console.
      if (answered.method === 'HEAD') return
      if (!hiddenPaths.includes(answered.path)) calls.add(answered, content, nowMs())
    },
    close: () => {
      stream.close()
      return receiver.close()
    },
  }
}

const searchOf = (query: URLSearchParams): string => (query.get('q') ?? '').slice(0, 200)

/** Encodes a file name for a header (RFC 8187). */
const encodeName = (name: string): string =>
  encodeURIComponent(name.toWellFormed().replace(/[/\\]/g, '_')).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  )

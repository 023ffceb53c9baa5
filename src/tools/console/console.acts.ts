import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { durationOf } from '../../lib/since.ts'
import type { ClockView } from '../../store/clock.ts'
import { caughtIds, mailModes, removeCaught, setMode } from '../catcher/catcher.ts'

/** Moves the clock of the database, as `svc clock` does. */
export interface ConsoleClock {
  advance(byMs: number): Promise<ClockView>
  reset(): Promise<ClockView>
}

interface Ports {
  dataDir: string
  clock: ConsoleClock
  now(): Date
  /** Returns the ids of the emails that match a search. */
  findMails(search: string): Promise<string[]>
  checkLinks(id: string): Promise<void>
}

interface ActAnswer {
  status: number
  headers?: Record<string, string>
  text?: string
}

/** How long a request waits until this process follows the moved clock. */
const followMs = 1000

/**
 * Whether a form was sent from a page of the console. A browser sets one of these headers, and no other site can forge them.
 * The host name was checked before.
 */
const isOurs = ({ headers }: IncomingMessage): boolean =>
  headers.origin === undefined || headers.origin === 'null'
    ? headers['sec-fetch-site'] === 'same-origin'
    : headers.origin === `http://${headers.host}`

const pages = /^\/(mail(\/msg_[0-9a-z]+)?|webhooks|calls)?(\?[\w=&%+.*-]*)?$/

const refused = (status: number, text: string, headers: Record<string, string> = {}): ActAnswer => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
  text: `${text}\n`,
})

const moveClock = async ({ clock, now }: Ports, by: string): Promise<boolean> => {
  const ms = durationOf(by)
  if (by !== 'reset' && ms === null) return false
  const { offsetMs } = ms === null ? await clock.reset() : await clock.advance(ms)
  // The next page should show the new time.
  const isFollowed = () => Math.abs(now().getTime() - Date.now() - offsetMs) < 500
  for (const endsAt = performance.now() + followMs; !isFollowed() && performance.now() < endsAt; ) await sleep(5)
  return true
}

const change = async (path: string, form: URLSearchParams, ports: Ports): Promise<boolean> => {
  if (path === '/mail/clear') {
    removeCaught(ports.dataDir, await ports.findMails(form.get('q') ?? ''))
    return true
  }
  if (path === '/mail/delete') {
    removeCaught(
      ports.dataDir,
      caughtIds(ports.dataDir).filter((id) => id === form.get('id')),
    )
    return true
  }
  if (path === '/mail/links') {
    await ports.checkLinks(form.get('id') ?? '')
    return true
  }
  if (path === '/clock') return moveClock(ports, form.get('by') ?? '')
  const mode = mailModes.find((known) => known === form.get('mode'))
  if (path !== '/mail/mode' || !mode) return false
  setMode(ports.dataDir, mode, null)
  return true
}

/** Handles a form of the console, and redirects to the page of the form. */
export const act = async (
  request: IncomingMessage,
  path: string,
  body: Buffer | null,
  ports: Ports,
): Promise<ActAnswer> => {
  if (!['/mail/clear', '/mail/delete', '/mail/mode', '/mail/links', '/clock'].includes(path))
    return refused(405, 'This page accepts no form', { allow: 'GET, HEAD' })
  if (!isOurs(request)) return refused(403, 'Only pages of the console may send this form')
  if (body === null) return refused(413, 'The form is too large')
  const form = new URLSearchParams(body.toString())
  if (!(await change(path, form, ports))) return refused(400, 'The form is invalid')
  const back = form.get('back') ?? ''
  return { status: 303, headers: { location: pages.test(back) ? back : '/' } }
}

import { allRelays, type KnownRelay } from '../../messages/relays.all.ts'
import { createResolver } from '../../net/resolver.ts'
import type { OpenApp } from '../app.ts'
import type { Config } from '../config.ts'
import { type Check, fail, ok, reasonOf, warn } from './doctor.check.ts'

const answerMs = 5000
/** A relay that says nothing is given up before its own time limits, which are made for mail. */
const handshakeMs = 15_000
const relaysAtOnce = 10
/** Any answer will do, also that there is no such name. */
const askedName = 'example.com'

const checkServer = async (servers: readonly string[]): Promise<Check> => {
  const resolver = createResolver([...servers])
  const fact = await resolver.mail(askedName, answerMs).finally(() => resolver.close())
  const who = servers[0] ?? "the system's name servers"
  if (fact === 'timeout' || fact === 'error')
    return fail('dns', `${who} gave no answer (${fact}): set SVC_DNS_SERVERS to name servers that do`)
  return ok('dns', `${who} answered`)
}

/** Each name server that is asked. */
export const checkDns = ({ dnsServers }: Pick<Config, 'dnsServers'>): Promise<Check[]> =>
  Promise.all((dnsServers.length > 0 ? dnsServers.map((server) => [server]) : [[]]).map(checkServer))

const checkRelay = async ({ smtp }: OpenApp, { account, host, port, access }: KnownRelay): Promise<Check> => {
  const name = `relay ${host}:${port}`
  const whose = account === null ? "the platform's, SVC_SMTP_URL" : `of ${account}`
  const late = new Promise<string>((resolve) => {
    setTimeout(resolve, handshakeMs, `no answer within ${handshakeMs / 1000} s`).unref()
  })
  const fault = await Promise.race([Promise.try(() => smtp.verify(access())), late]).catch(reasonOf)
  return fault === null ? ok(name, `takes a handshake (${whose})`) : fail(name, `${fault} (${whose}): set it right`)
}

/** The platform's relay and those of the accounts. */
export const checkRelays = async (app: OpenApp): Promise<Check[]> => {
  const relays = await allRelays(app)
  if (relays.length === 0) return [warn('relay', 'there is none: set SVC_SMTP_URL, or svc relay set for each account')]
  const checks: Check[] = []
  for (let at = 0; at < relays.length; at += relaysAtOnce)
    checks.push(...(await Promise.all(relays.slice(at, at + relaysAtOnce).map((relay) => checkRelay(app, relay)))))
  return checks
}

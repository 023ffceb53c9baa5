import { urlHost } from '../../net/addresses.ts'
import { createResolver } from '../../net/resolver.ts'
import type { Verified } from '../../net/smtp.ts'
import { allRelays, type KnownRelay } from '../../senders/senders.ts'
import type { OpenApp } from '../app.ts'
import type { Config } from '../config.ts'
import { type Check, fail, ok, reasonOf, warn } from './doctor.check.ts'

const answerMs = 5000
/** The limit for a relay's handshake, which is shorter than the limits for sending. */
const handshakeMs = 15_000
const relaysAtOnce = 10
/** Any answer counts, also that there is no such name. */
const askedName = 'example.com'

const checkServer = async (servers: readonly string[]): Promise<Check> => {
  const resolver = createResolver([...servers])
  const fact = await resolver.mail(askedName, answerMs).finally(() => resolver.close())
  const who = servers[0] ?? "the system's name servers"
  if (fact === 'timeout' || fact === 'error')
    return fail('dns', `${who} did not answer (${fact}): set SVC_DNS_SERVERS to working name servers`)
  return ok('dns', `${who} answered`)
}

/** Checks each configured name server. */
export const checkDns = ({ dnsServers }: Pick<Config, 'dnsServers'>): Promise<Check[]> =>
  Promise.all((dnsServers.length > 0 ? dnsServers.map((server) => [server]) : [[]]).map(checkServer))

const checkRelay = async ({ smtp }: OpenApp, { account, host, port, access }: KnownRelay): Promise<Check> => {
  const name = `relay ${urlHost(host)}:${port}`
  const whose = account === null ? "the platform's, SVC_SMTP_URL" : `of ${account}`
  const late = new Promise<Verified>((resolve) => {
    setTimeout(resolve, handshakeMs, { fault: `no answer within ${handshakeMs / 1000} s`, tls: null }).unref()
  })
  const { fault, tls } = await Promise.race([Promise.try(() => smtp.verify(access())), late]).catch((error) => ({
    fault: reasonOf(error),
    tls: null,
  }))
  return fault === null
    ? ok(name, `handshake succeeded, ${tls ?? 'without TLS'} (${whose})`)
    : fail(name, `${fault} (${whose}): correct its settings`)
}

/** Checks the platform's relay and the relays of the accounts. */
export const checkRelays = async (app: OpenApp): Promise<Check[]> => {
  const relays = await allRelays(app)
  if (relays.length === 0)
    return [warn('relay', 'no relay is configured: set SVC_SMTP_URL, or run svc relay set for each account')]
  const checks: Check[] = []
  for (let at = 0; at < relays.length; at += relaysAtOnce)
    checks.push(...(await Promise.all(relays.slice(at, at + relaysAtOnce).map((relay) => checkRelay(app, relay)))))
  return checks
}

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { anyAddress } from '../../src/net/addresses.ts'
import { createHttpClient } from '../../src/net/http.ts'
import { createResolver } from '../../src/net/resolver.ts'
import { openDnsServer } from '../support/dns.ts'

/**
 * Posts to names whose server is silent, and at the same time to names that answer, each for the first time. Arguments:
 * `<set|unset> <silent names>`. With `unset` the name server is that of the system, which must be on port 53. Prints how many
 * silent posts (of four accounts) still hung when the healthy ones had ended, and how many silent names were looked up.
 */
const [servers, silentCount] = process.argv.slice(2)

const dns = await openDnsServer(servers === 'unset' ? 53 : 0)
const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo
const resolver = createResolver(servers === 'unset' ? [] : [dns.address])
const client = createHttpClient({ resolver, allow: anyAddress })
const post = (name: string, accountId: string) =>
  client.post(`http://${name}:${port}/`, { headers: {}, body: '{}', timeoutMs: 5000, accountId })

const asked = () => new Set(dns.queries.filter((query) => query.startsWith('A silent'))).size
let hanging = Number(silentCount)
for (let i = 0; i < Number(silentCount); i++) {
  dns.set(`silent${i}.test`, { mode: 'silent' })
  void post(`silent${i}.test`, `silent${i % 4}`).then(() => hanging--)
}
while (asked() < Math.min(Number(silentCount), 4 * 16)) await sleep(5)
for (let i = 0; i < 10; i++) {
  dns.set(`beside${i}.test`, { A: ['127.0.0.1'] })
  const { ok, error } = await post(`beside${i}.test`, 'healthy')
  if (!ok) throw new Error(error ?? 'failed')
}
const { ok: isHostsFileRead } = await post('listed.test', 'healthy')
process.stdout.write(JSON.stringify({ hanging, asked: asked(), isHostsFileRead }))
process.exit(0)

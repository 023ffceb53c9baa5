import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of a server (PostgreSQL, a relay) whose network path a test interrupts and restores. */
export interface TcpProxy {
  port: number
  /** The address of the server through the proxy: same user, database and parameters. */
  through(url: string): string
  /** Open connections, including silent ones. */
  connections(): number
  /**
   * The existing connections stay open, but no data passes in either direction any more, not even their end. New connections
   * work. Returns the number of connections that became silent.
   */
  silence(): number
  /** New connections are accepted, but no data passes. `pass()` ends this for later connections. */
  hold(): void
  /** New connections are reset. `pass()` ends this. */
  refuse(): void
  pass(): void
  /** Silent connections pass data again, beginning with the delayed data: the path was only interrupted. */
  resume(): void
  /** Resets every existing connection, on both sides. */
  cut(): void
  close(): Promise<void>
}

interface Link {
  client: Socket
  server: Socket
  isSilent: boolean
}

/** Returns where the server of a URL listens: at a host and port, or at the Unix socket of a database. */
export const placeOf = (target: string) => {
  const { hostname, port } = new URL(target)
  return hostname.startsWith('%2F')
    ? { path: `${decodeURIComponent(hostname)}/.s.PGSQL.${port}` }
    : { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), noDelay: true }
}

/** Listens on a loopback port (`at`, if given) and forwards to the host and port of `target` (a URL), or to the Unix socket of a database. */
export const openProxy = async (target: string, at = 0): Promise<TcpProxy> => {
  const place = placeOf(target)
  const links = new Set<Link>()
  let admission: 'pass' | 'hold' | 'refuse' = 'pass'

  const reset = (link: Link): void => {
    links.delete(link)
    link.client.resetAndDestroy()
    // A Unix socket can't be reset.
    if ('path' in place) link.server.destroy()
    else link.server.resetAndDestroy()
  }

  const forward = (link: Link, from: Socket, to: Socket): void => {
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause()
    })
    to.on('drain', () => link.isSilent || from.resume())
    // Emitted for a paused socket, too: a silent path does not forward an end.
    from.on('end', () => link.isSilent || to.end())
    from.on('error', () => {})
    from.on('close', () => {
      if (link.isSilent) return
      links.delete(link)
      to.destroy()
    })
  }

  const mute = (link: Link): void => {
    link.isSilent = true
    link.client.pause()
    link.server.pause()
  }

  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    if (admission === 'refuse') return void client.on('error', () => {}).resetAndDestroy()
    const server = connect({ ...place, allowHalfOpen: true })
    const link: Link = { client, server, isSilent: false }
    links.add(link)
    forward(link, client, server)
    forward(link, server, client)
    if (admission === 'hold') mute(link)
  })
  listener.listen(at, '127.0.0.1')
  await once(listener, 'listening')
  const { port: own } = listener.address() as AddressInfo

  return {
    port: own,
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(own) }).href,
    connections: () => links.size,
    silence() {
      const passing = [...links].filter(({ isSilent }) => !isSilent)
      passing.forEach(mute)
      return passing.length
    },
    hold() {
      admission = 'hold'
    },
    refuse() {
      admission = 'refuse'
    },
    pass() {
      admission = 'pass'
    },
    resume() {
      for (const link of links) {
        if (!link.isSilent) continue
        link.isSilent = false
        const sides = [link.client, link.server]
        if (sides.some(({ readableEnded, destroyed }) => readableEnded || destroyed)) reset(link)
        else {
          link.client.resume()
          link.server.resume()
        }
      }
    },
    cut() {
      for (const link of [...links]) reset(link)
    },
    async close() {
      for (const link of [...links]) reset(link)
      listener.close()
      await once(listener, 'close')
    },
  }
}

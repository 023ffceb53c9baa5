import { destination, type Logger, pino } from 'pino'

interface Requested {
  method: string
  routeOptions?: { url?: string }
  ip?: string
}

/** A request is logged by its route, not by its address: those of pages and of the live view hold tokens. */
export const serializers = {
  req: ({ method, routeOptions, ip }: Requested) => ({ method, route: routeOptions?.url, remoteAddress: ip }),
}

/** Logs are JSON lines on stderr: stdout is for data. Keys, tokens and bodies are never logged. */
export const createLogger = (level: string): Logger => {
  const stderr = destination({ fd: 2, sync: true })
  // A terminal that has closed takes no lines; what goes on goes on.
  stderr.on('error', () => {})
  return pino({ level, serializers, redact: ['req.headers.authorization'] }, stderr)
}

const sentences: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed before an answer',
  EPIPE: 'connection closed before an answer',
  UND_ERR_SOCKET: 'connection closed before an answer',
  NoConnection: 'connection closed before an answer',
  ClosedAfterConnectText: 'connection closed before an answer',
  ClosedAfterConnectTLS: 'connection closed before an answer',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'host unreachable',
  ENOTFOUND: 'host name does not resolve',
  ENODATA: 'host name does not resolve',
  EBADNAME: 'host name does not resolve',
  ETIMEOUT: 'host name lookup timed out',
  ECANCELLED: 'host name lookup timed out',
  UND_ERR_INVALID_ARG: 'request is not valid',
  UND_ERR_HEADERS_OVERFLOW: 'answer has too many headers',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'answer is not valid HTTP',
  UND_ERR_DESTROYED: 'stopped before an answer',
  UND_ERR_CLOSED: 'stopped before an answer',
}

const families: [RegExp, (code: string) => string][] = [
  [/CERT|ISSUER|SIGNATURE/, (code) => `TLS certificate is not valid (${code})`],
  [/^(ERR_SSL_|ERR_TLS_|EPROTO)/, (code) => `TLS handshake failed (${code})`],
  [/^(ESERVFAIL|EREFUSED|EAI_)/, (code) => `host name lookup failed (${code})`],
]

/** Returns a sentence for the error code of a socket, a look-up or TLS, or undefined for any other code. */
export const sentenceOfCode = (code: string): string | undefined =>
  sentences[code] ?? families.find(([pattern]) => pattern.test(code))?.[1](code)

/** Whether the error is of a DNS query. An unreachable name server fails with a connection's code, but it is not the endpoint. */
const isQuery = (error: { syscall?: unknown }): boolean => String(error.syscall ?? '').startsWith('query')

/** Returns a short sentence on why a request got no answer, for the owner of the endpoint: no stack, no library names. */
export const failureSentence = (error: Error & { code?: unknown; syscall?: unknown }): string => {
  const code = String(error.code ?? '')
  if (code === 'ADDRESS_REFUSED') return error.message
  if (error.name === 'HTTPParserError') return 'answer is not valid HTTP' // its code is often absent
  if (code === 'ECONNREFUSED' && isQuery(error)) return `host name lookup failed (${code})`
  const known = sentenceOfCode(code)
  return known ?? (code === '' ? 'request failed' : `request failed (${code})`)
}

/** Whether a request failed because its client was closed or destroyed. */
export const isStop = (error: Error & { code?: unknown }): boolean =>
  error.code === 'UND_ERR_DESTROYED' || error.code === 'UND_ERR_CLOSED'

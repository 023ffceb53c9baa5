import { errorCodes, type FastifyRequest } from 'fastify'

const megabyte = 1024 * 1024

/** Maximum body sizes in bytes. */
export const bodyLimits = {
  /** The limit of requests without a key. */
  open: 64 * 1024,
  /** The limit of requests with a key. */
  keyed: megabyte,
  /** The limit of routes that take hundreds of contacts or a whole email. */
  large: 8 * megabyte,
  /** The limit of emails with attachments. */
  attached: 16 * megabyte,
} as const

/** Formats a size for error messages. */
export const sizeText = (bytes: number): string => (bytes < megabyte ? `${bytes / 1024} KB` : `${bytes / megabyte} MB`)

/** Whether the Content-Type is JSON. */
export const isJson = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  /^application\/json\b/i.test(headers['content-type'] ?? '')

/** Returns the maximum body size of a request. Without a key, only forms (not JSON) can exceed the open limit. */
export const bodyLimitOf = (request: FastifyRequest): number => {
  const limit = request.routeOptions.bodyLimit ?? bodyLimits.open
  return request.caller || !isJson(request) ? limit : Math.min(limit, bodyLimits.open)
}

/** Returns the error for a body that is too large. Its message names `limit`, by default the one of `bodyLimitOf`. */
export const tooLarge = (limit?: number) => Object.assign(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(), { limit })

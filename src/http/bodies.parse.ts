import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid } from '../lib/problem.ts'
import { parseAttached } from './bodies.attached.ts'
import { bodyLimits, tooLarge } from './bodies.limits.ts'
import type { ReadBody } from './bodies.ts'
import type { Route } from './route.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    attachedOf?: Route['attachedOf'] | undefined
  }
}

/** The code of the error for a body with a content coding. */
export const codedBody = 'ERR_CODED_BODY'

/** Returns the refusal of a body with a content coding, such as gzip, or null. */
export const refusalOfCoding = ({ headers }: Pick<FastifyRequest, 'headers'>): Error | null => {
  const coding = headers['content-encoding'] ?? ''
  return /^(identity)?$/i.test(coding) ? null : Object.assign(new Error(), { code: codedBody })
}

/** Decodes UTF-8. Throws Problem `invalid` for other bytes: replacing them takes 100 ms in 8 MB and would change the content. */
export const textOf = (body: Buffer): string => {
  if (!isUtf8(body)) throw invalid('body must be UTF-8')
  return body.toString()
}

const takesBody = (request: FastifyRequest) => request.routeOptions.schema?.body !== undefined

/** Accepts only JSON; other types are 415. Routes without a body ignore what the client sends. */
export const addBodyParsers = (server: FastifyInstance, readBody: ReadBody): void => {
  // Keys that could change prototypes are dropped at any depth: `__proto__`, and `constructor` with an object that has `prototype`.
  const json = server.getDefaultJsonParser('remove', 'remove')
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', (request, payload, done) => {
    if (!takesBody(request)) return done(null)
    const refusal = refusalOfCoding(request)
    if (refusal) return done(refusal)
    const { attachedOf } = request.routeOptions.config
    const parse = (text: Buffer) =>
      new Promise<unknown>((resolve, reject) => {
        void json(request, textOf(text), (error, body) => (error ? reject(error) : resolve(body)))
      })
    readBody(request, payload)
      .then(async (body) => {
        const hasLong = body.longStrings.length > 0
        const attached = attachedOf && hasLong ? await parseAttached(body, attachedOf, parse) : undefined
        if (attached !== undefined) return attached
        const parsed = await parse(body.whole())
        if (body.length > bodyLimits.large && attachedOf?.(parsed) === null) throw tooLarge(bodyLimits.large)
        return parsed
      })
      .then((parsed) => done(null, parsed), done)
  })
  server.addContentTypeParser('*', (request, _payload, done) =>
    done(takesBody(request) ? Object.assign(new Error(), { code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }) : null),
  )
}

import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform } from 'fastify-type-provider-zod'

const meanings: Record<number, string> = {
  400: 'Malformed JSON, or a missing or invalid field',
  401: 'Missing, invalid or revoked key',
  403: 'Not in the plan, or not entitled',
  404: 'Missing, or not of this account',
  409: 'Conflict with what is stored, or a limit reached',
  429: 'Rate limit exceeded, or a monthly quota used up',
  502: 'A service that this one needs did not answer',
}

const refusal = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})

interface RouteConfig {
  refusals?: readonly number[]
  isOpen: boolean
}

/** Every keyed route can answer 400, 401 and 429; the others are those that the route names. */
const withRefusals = (schema: Record<string, unknown>, { refusals = [], isOpen }: RouteConfig) => ({
  ...schema,
  security: isOpen ? [] : [{ apiKey: [] }],
  response: {
    ...(schema.response as object),
    ...Object.fromEntries(
      (isOpen ? refusals : [400, 401, ...refusals, 429]).map((status) => [
        status,
        refusal(meanings[status] ?? 'Refused'),
      ]),
    ),
  },
})

const toJsonSchema = createJsonSchemaTransform({})

/** Generates `/openapi.json` from the zod schemas that validate: the document can't say what the server does not do. */
export const describe = async (server: FastifyInstance, publicUrl: string): Promise<void> => {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'svc',
        description: 'Email, contacts, deals, journeys, webinars, courses and webhooks.',
        version: '1',
      },
      servers: [{ url: publicUrl }],
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
        schemas: { Error: { type: 'object', required: ['error'], properties: { error: { type: 'string' } } } },
      },
    },
    transform: (input) => {
      const { schema, url } = toJsonSchema(input as never)
      const config = input.route.config as RouteConfig | undefined
      return { url, schema: (config?.refusals ? withRefusals(schema as never, config) : schema) as never }
    },
  })
  server.get('/openapi.json', { schema: { hide: true } }, async () => server.swagger())
}

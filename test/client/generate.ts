/*
 * Writes src/client/api.ts, the types of the routes, from the OpenAPI document: `npm run client`. openapi-typescript needs a TypeScript of its
 * own, which is installed beside this file.
 */
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadRoutes } from '../../src/app/features.ts'
import { type OpenApi, openApiOf } from '../../src/http/openapi.ts'

export const target = join(import.meta.dirname, '../../src/client/api.ts')

const heading = '// Generated from the OpenAPI document by `npm run client`: do not edit.\n'

/** Returns the document without what the client has no types for: webhooks, headers, and answers that become a SvcError. */
const reduced = (document: OpenApi) => {
  const { paths, components, webhooks: _, ...rest } = structuredClone(document)
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    operation.parameters = (operation.parameters ?? []).filter((one) => one.in !== 'header')
    const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
    operation.responses = Object.fromEntries(successes.map(([status, answer]) => [status, { ...answer, headers: {} }]))
  }
  return { ...rest, paths, components: { schemas: components.schemas, securitySchemes: components.securitySchemes } }
}

/** What openapi-typescript declares for what is not there. The types of the client look only for an absent `query`. */
const absent = [
  / parameters: \{\n +query\?: never;\n +header\?: never;\n +path\?: never;\n +cookie\?: never;\n +\};\n(?! +(requestBody|responses))/g,
  /^ +(get|put|post|delete|options|head|patch|trace|header|path|cookie|requestBody)\?: never;\n/gm,
  /^ +headers: \{\n +\[name: string\]: unknown;\n +\};\n/gm,
  /^ +(responses|parameters|requestBodies|headers|pathItems): never;\n/gm,
  / \(enum property replaced by openapi-typescript\)/g,
]

/** Returns the source of src/client/api.ts. */
export const generateApi = async (): Promise<string> => {
  const { default: generate, astToString } = createRequire(import.meta.url)('openapi-typescript')
  const routes = await loadRoutes()
  const full: string = astToString(await generate(reduced(openApiOf(routes, '')), { silent: true }))
  const types = absent.reduce((text, pattern) => text.replaceAll(pattern, ''), full)
  const keyed = routes
    .filter((route) => 'isIdempotent' in route && route.isIdempotent)
    .map(({ method, path }) => `'${method} ${path.replace(/:(\w+)/g, '{$1}')}'`)
  return `${heading}
/** Routes that take an Idempotency-Key. */
export const keyedRoutes = [${keyed.join(', ')}] as const

${types}`
}

if (import.meta.main) await writeFile(target, await generateApi())

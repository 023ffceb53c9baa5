/*
 * Writes src/client/api.ts, the types of the routes, from the OpenAPI document: `npm run client`. openapi-typescript needs a TypeScript of its
 * own, which is installed beside this file.
 */
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadRoutes } from '../../src/app/features.ts'
import { openApiOf } from '../../src/http/openapi.ts'

export const target = join(import.meta.dirname, '../../src/client/api.ts')

const heading = '// Generated from the OpenAPI document by `npm run client`: do not edit.\n'

/** Returns the source of src/client/api.ts. */
export const generateApi = async (): Promise<string> => {
  const { default: generate, astToString } = createRequire(import.meta.url)('openapi-typescript')
  const routes = await loadRoutes()
  const types: string = astToString(await generate(openApiOf(routes, ''), { silent: true })).replaceAll(
    ' (enum property replaced by openapi-typescript)',
    '',
  )
  const keyed = routes
    .filter((route) => 'isIdempotent' in route && route.isIdempotent)
    .map(({ method, path }) => `'${method} ${path.replace(/:(\w+)/g, '{$1}')}'`)
  return `${heading}
/** Routes that take an Idempotency-Key. */
export const keyedRoutes = [${keyed.join(', ')}] as const

${types}`
}

if (import.meta.main) await writeFile(target, await generateApi())

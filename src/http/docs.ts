import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { document as documentOf, type File, type Page, pageHeaders } from '../pages/page.ts'
import type { OpenApi } from './openapi.ts'

interface Rendered {
  headers: Record<string, string>
  content: Record<'br' | 'gzip' | 'identity', Buffer>
}

const render = async (document: OpenApi): Promise<Rendered> => {
  // Loaded with the first request.
  const { docsView } = await import('./docs.view.ts')
  const view = docsView(document)
  const identity = Buffer.from(documentOf(view))
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
    promisify(gzip)(identity),
  ])
  const etag = `"${hash('sha256', identity, 'base64url')}"`
  const headers = { ...pageHeaders(view), 'cache-control': 'public, max-age=300', etag, vary: 'accept-encoding' }
  return { headers, content: { br, gzip: gz, identity } }
}

const encodingOf = (accepted: string): keyof Rendered['content'] => {
  const names = accepted
    .toLowerCase()
    .replaceAll(' ', '')
    .split(',')
    .map((one) => one.split(';q='))
    .filter(([, weight]) => weight === undefined || Number(weight) > 0)
    .map(([name]) => name)
  return (['br', 'gzip'] as const).find((name) => names.includes(name)) ?? 'identity'
}

/**
 * The page `/docs` with the documentation of the API. It is rendered and compressed on the first request, and loads nothing from
 * other hosts.
 */
export const docsPage = (document: () => OpenApi): Page => {
  let rendered: Promise<Rendered> | undefined
  return {
    method: 'GET',
    path: '/docs',
    handle: async ({ headers: asked }): Promise<File> => {
      rendered ??= render(document()).catch((error) => {
        rendered = undefined
        throw error
      })
      const { headers, content } = await rendered
      const type = headers['content-type']!
      if (asked['if-none-match'] === headers.etag) return { type, status: 304, content: '', headers }
      const encoding = encodingOf(String(asked['accept-encoding'] ?? ''))
      const encoded = encoding === 'identity' ? {} : { 'content-encoding': encoding }
      return { type, content: content[encoding], headers: { ...headers, ...encoded } }
    },
  }
}

/** The index of the documentation for language models, `/llms.txt`. */
export const llmsPage = (document: () => OpenApi): Page => ({
  method: 'GET',
  path: '/llms.txt',
  handle: async (): Promise<File> => {
    const { llmsText } = await import('./docs.llms.ts')
    const headers = { 'cache-control': 'public, max-age=300' }
    return { type: 'text/plain; charset=utf-8', content: llmsText(document()), headers }
  },
})

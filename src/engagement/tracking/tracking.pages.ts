import { notFoundPage, type Page } from '../../pages/page.ts'
import { followLink, recordOpen } from './tracking.ts'

/** A transparent GIF of one pixel, as the body of `/t/o/…`. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const click: Page = {
  method: 'GET',
  path: '/t/c/:token',
  token: 'click',
  handle: async ({ app, params, method, headers }) => {
    const redirect = await followLink(app, params.token!, { method, headers })
    return redirect === null ? notFoundPage : { redirect }
  },
}

const open: Page = {
  method: 'GET',
  path: '/t/o/:file',
  handle: async ({ app, params, method, headers }) => {
    const [, token] = /^(.+)\.gif$/.exec(params.file!) ?? []
    const isKnown = token !== undefined && (await recordOpen(app, token, { method, headers }))
    return isKnown ? { type: 'image/gif', content: pixel } : notFoundPage
  },
}

export const pages: readonly Page[] = [click, open]

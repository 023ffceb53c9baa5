import { notFoundPage, type Page } from '../../pages/page.ts'
import { followHoneypot, followLink, recordOpen } from './tracking.ts'

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

/** The link that no person sees. */
const honeypot: Page = {
  method: 'GET',
  path: '/t/h/:token',
  token: 'honeypot',
  handle: async ({ app, params }) =>
    (await followHoneypot(app, params.token!)) ? { redirect: app.config.publicUrl } : notFoundPage,
}

export const pages: readonly Page[] = [click, open, honeypot]

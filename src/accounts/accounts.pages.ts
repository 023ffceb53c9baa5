import { notFoundPage, type Page } from '../pages/page.ts'
import { logoOf } from './accounts.brand.ts'

/** The logo of an account, for its hosted pages and emails. */
const logo: Page = {
  method: 'GET',
  path: '/assets/:accountId/logo',
  async handle({ app, params }) {
    const found = await logoOf({ sql: app.sql, accountId: params.accountId! })
    if (!found) return notFoundPage
    // Its URL in emails stays, whatever the image is.
    return { ...found, headers: { 'cache-control': 'public, max-age=3600' } }
  },
}

export const pages: readonly Page[] = [logo]

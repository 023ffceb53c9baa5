import { html } from '../pages/html.ts'
import { notFound, type Page, type PageView } from '../pages/page.ts'
import type { App } from '../store/work.ts'
import { suppressAddresses } from './messages.ts'

interface Recipient {
  accountId: string
  email: string
}

/** Whom a link to unsubscribe is of, as long as the account is there. */
const recipientOf = async ({ sql, tokens, now }: App, token: string): Promise<Recipient | null> => {
  const [accountId, email] = tokens.read('unsubscribe', token, now().getTime()) ?? []
  if (!accountId || !email) return null
  const known = await sql('select 1 from accounts where id = $1', [accountId])
  return known.length > 0 ? { accountId, email } : null
}

const question = ({ email }: Recipient): PageView => ({
  title: 'Unsubscribe',
  body: html`<h1>Unsubscribe?</h1>
<p>You will get no more newsletters and offers at <strong>${email}</strong>. Mail that you ask for, such as receipts, still comes.</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
})

const done = ({ email }: Recipient): PageView => ({
  title: 'You are unsubscribed',
  body: html`<h1>You are unsubscribed</h1>
<p>No more newsletters and offers will be sent to <strong>${email}</strong>.</p>`,
})

/** The link of List-Unsubscribe (RFC 8058): a mail client posts to it, a person sees a page with a button. */
const path = '/u/:token'

const ask: Page = {
  method: 'GET',
  path,
  handle: async ({ app, params }) => {
    const recipient = await recipientOf(app, params.token!)
    return recipient ? question(recipient) : notFound
  },
}

const act: Page = {
  method: 'POST',
  path,
  handle: async ({ app, params }) => {
    const recipient = await recipientOf(app, params.token!)
    if (!recipient) return notFound
    const { accountId, email } = recipient
    await app.work(accountId, 'page:unsubscribe', (work) => suppressAddresses(work, [email], 'unsubscribed'))
    return done(recipient)
  },
}

export const pages: readonly Page[] = [ask, act]

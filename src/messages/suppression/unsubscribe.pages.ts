import { hasAccount } from '../../accounts/accounts.ts'
import { html } from '../../pages/html.ts'
import { notFoundPage, type Page, type PageView } from '../../pages/page.ts'
import type { App } from '../../store/work.ts'
import { leaveMail } from '../messages.ts'

interface Recipient {
  accountId: string
  email: string
  /** The message with the link; null: a link without one, as messages of earlier versions have. */
  messageId: string | null
}

/** Returns the recipient of an unsubscribe link, or null if the link is not valid or the account is deleted. */
const recipientOf = async ({ sql, tokens, now }: App, token: string): Promise<Recipient | null> => {
  const [accountId, email, messageId = null] = tokens.read('unsubscribe', token, now().getTime()) ?? []
  if (!accountId || !email) return null
  return (await hasAccount({ sql }, accountId)) ? { accountId, email, messageId } : null
}

const question = ({ email }: Recipient): PageView => ({
  title: 'Unsubscribe',
  body: html`<h1>Unsubscribe?</h1>
<p>
We’ll stop sending newsletters and offers to <strong>${email}</strong>.
You’ll still get emails that you ask for, such as receipts.
</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
})

const done = ({ email }: Recipient): PageView => ({
  title: 'You are unsubscribed',
  body: html`<h1>You are unsubscribed</h1>
<p>We won’t send any more newsletters or offers to <strong>${email}</strong>.</p>`,
})

/** The link of the List-Unsubscribe header (RFC 8058): a mail client posts to it, and a browser shows a page with a button. */
const path = '/u/:token'

const ask: Page = {
  method: 'GET',
  path,
  token: 'unsubscribe',
  handle: async ({ app, params }) => {
    const recipient = await recipientOf(app, params.token!)
    return recipient ? question(recipient) : notFoundPage
  },
}

const act: Page = {
  method: 'POST',
  path,
  token: 'unsubscribe',
  handle: async ({ app, params }) => {
    const recipient = await recipientOf(app, params.token!)
    if (!recipient) return notFoundPage
    await app.work(recipient.accountId, 'page:unsubscribe', (work) => leaveMail(work, recipient))
    return done(recipient)
  },
}

export const pages: readonly Page[] = [ask, act]

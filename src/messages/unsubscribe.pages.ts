import { hasAccount } from '../accounts/accounts.ts'
import { notFoundPage, type Page, type PageCall } from '../pages/page.ts'
import type { App, Work } from '../store/work.ts'
import { changeEverything, leaveByOneClick, readPreferences, saveChoices } from '../suppressions/suppressions.ts'
import { topicOf } from './messages.find.ts'
import { actions, chosenValue, fields, left, preferencePage, question, returned } from './unsubscribe.views.ts'

interface Recipient {
  accountId: string
  email: string
  /** The message with the link. It is null for a link without one, as messages of earlier versions have. */
  messageId: string | null
  topicId: string | null
}

/** Returns the recipient of an unsubscribe link, or null if the link is not valid or the account is deleted. */
const recipientOf = async ({ sql, tokens, now }: App, token: string): Promise<Recipient | null> => {
  const [accountId, email, messageId = null] = tokens.read('unsubscribe', token, now().getTime()) ?? []
  if (!accountId || !email || !(await hasAccount({ sql }, accountId))) return null
  const topicId = messageId === null ? null : await topicOf({ sql, accountId }, messageId)
  return { accountId, email, messageId, topicId }
}

/** The link of the List-Unsubscribe header (RFC 8058): a mail client posts to it, and a browser shows the preference page. */
const path = '/u/:token'

const ask: Page = {
  method: 'GET',
  path,
  token: 'unsubscribe',
  handle: async ({ app, params }) => {
    const recipient = await recipientOf(app, params.token!)
    if (!recipient) return notFoundPage
    const preferences = await readPreferences({ sql: app.sql, accountId: recipient.accountId }, recipient)
    const { email } = recipient
    if (preferences.topics.length > 0) return preferencePage(email, preferences, false)
    return preferences.hasLeftEverything ? left(email) : question(email)
  },
}

/** The field that mail clients post (RFC 8058). */
const oneClick = 'List-Unsubscribe'

/** A topic's id in a posted form. */
const idPattern = /^top_[0-9a-z]{1,40}$/

/** Does what the pressed button says. Without one it is the one click of a mail client, or of the page without topics. */
const change = (work: Work, recipient: Recipient, form: PageCall['form']): Promise<void> => {
  const action = oneClick in form ? undefined : form[fields.action]
  if (action === actions.leave) return changeEverything(work, recipient, 'leave')
  if (action === actions.return) return changeEverything(work, recipient, 'return')
  if (action !== actions.save) return leaveByOneClick(work, recipient)
  const shown = (form[fields.shown] ?? '').split(',').filter((id) => idPattern.test(id))
  const chosen = new Set(shown.filter((id) => form[id] === chosenValue))
  return saveChoices(work, recipient, { shown, chosen })
}

const act: Page = {
  method: 'POST',
  path,
  token: 'unsubscribe',
  handle: async ({ app, params, form }) => {
    const recipient = await recipientOf(app, params.token!)
    if (!recipient) return notFoundPage
    const preferences = await app.work(recipient.accountId, 'page:unsubscribe', async (work) => {
      await change(work, recipient, form)
      return readPreferences(work, recipient)
    })
    const { email } = recipient
    if (preferences.topics.length > 0) return preferencePage(email, preferences, true)
    if (preferences.hasLeftEverything) return left(email)
    return form[fields.action] === actions.return ? returned(email) : question(email)
  },
}

export const pages: readonly Page[] = [ask, act]

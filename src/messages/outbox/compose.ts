import { readBrand } from '../../accounts/accounts.ts'
import type { Mail } from '../../net/mime.ts'
import type { RelayAccess } from '../../net/smtp.ts'
import { accessOf, dkimSelector, domainContext, relayOfUrl } from '../../senders/senders.ts'
import type { App } from '../../store/work.ts'
import type { ClaimedMessage, Content } from './outbox.claim.ts'

/** Returns the envelope sender that identifies the message in delivery reports (VERP). Only this installation can make `stamp`. */
const verp = (bounceAddress: string, id: string, stamp: string): string => {
  const at = bounceAddress.lastIndexOf('@')
  return `${bounceAddress.slice(0, at)}+${id}.${stamp}${bounceAddress.slice(at)}`
}

interface Composed {
  relay: RelayAccess
  mail: Mail
}

/** Returns a function that renders a claimed message and opens the credentials of its relay. */
export const createComposer = (app: App) => {
  const { box } = app
  const { smtpUrl, publicUrl } = app.config

  const relayOf = ({ accountId, relay }: ClaimedMessage): RelayAccess | null => {
    if (!relay) return smtpUrl === null ? null : relayOfUrl(smtpUrl)
    return accessOf(relay, (sealed) => box.open(sealed, accountId))
  }

  const addressOf = async ({ accountId, postalAddress }: Content): Promise<string | null> =>
    postalAddress === undefined ? (await readBrand({ sql: app.sql, accountId })).postalAddress : postalAddress

  const bodyOf = async (
    content: Content,
    unsubscribe: string | null,
  ): Promise<{ html: string; text: string } | null> => {
    const { accountId, id: messageId, projectId: id, projectVersion: version, mergeData } = content
    if (id === null) return { html: content.html ?? '', text: content.text ?? '' }
    if (!app.projects) return null
    return app.projects.renderProject(app, {
      accountId,
      messageId,
      id,
      version: version!,
      mergeData: mergeData ?? {},
      links: { unsubscribe, postalAddress: unsubscribe === null ? null : await addressOf(content) },
      nowMs: content.dueAt.getTime(),
    })
  }

  /** Returns null if the account's relay, or the project, was deleted after the message was queued. */
  return async (claimed: ClaimedMessage, content: Content): Promise<Composed | null> => {
    const { accountId, id, email, type, domain, sealedKey } = content
    const token = type === 'marketing' ? app.tokens.sign('unsubscribe', [accountId, email, id], null) : null
    const unsubscribe = token && `${publicUrl}/u/${token}`
    const relay = relayOf(claimed)
    const body = await bodyOf(content, unsubscribe)
    if (!relay || !body) return null
    const { bounceAddress = null } = claimed.relay ?? {}
    return {
      relay,
      mail: {
        from: { name: content.fromName, address: content.fromEmail },
        to: email,
        addressees: content.addressees,
        replyTo: content.replyTo,
        subject: content.subject,
        html: body.html,
        text: body.text,
        calendar: content.calendar,
        // Loaded when a connection takes the message.
        ...(content.attachmentsOf !== null && { attachments: [] }),
        messageId: `<${id}@${domain}>`,
        date: app.now(),
        bounceTo: bounceAddress === null ? content.fromEmail : verp(bounceAddress, id, app.tokens.stamp('bounce', id)),
        headers: {
          ...content.headers,
          ...(unsubscribe && {
            'List-Unsubscribe': `<${unsubscribe}>`,
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          }),
        },
        dkim:
          sealedKey === null
            ? null
            : { domain, selector: dkimSelector, privateKey: box.open(sealedKey, domainContext(accountId, domain)) },
      },
    }
  }
}

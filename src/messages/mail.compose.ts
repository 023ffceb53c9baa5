import type { Mail, RelayAccess } from '../net/smtp.ts'
import type { App } from '../store/work.ts'
import type { ClaimedMessage, Content } from './mail.claim.ts'

/** Where DKIM keys are published: `svc1._domainkey.<domain>`. */
export const dkimSelector = 'svc1'

export const domainContext = (accountId: string, domain: string): string => `${accountId} ${domain}`

const maxKept = 5000

/** Opens sealed secrets, each once. */
const createOpener = ({ box }: Pick<App, 'box'>) => {
  const opened = new Map<string, string>()
  return (sealed: string, context: string): string => {
    if (opened.size >= maxKept) opened.clear()
    return opened.getOrInsertComputed(`${context} ${sealed}`, () => box.open(sealed, context))
  }
}

/** `smtp[s]://user:password@host:port` of SVC_SMTP_URL. */
export const relayOfUrl = (text: string): RelayAccess => {
  const { protocol, hostname, port, username, password } = new URL(text)
  const isSecure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    isSecure,
    username: username === '' ? null : decodeURIComponent(username),
    password: password === '' ? null : decodeURIComponent(password),
  }
}

/** The envelope sender that names the message to who reads the reports (VERP). `stamp` is what a stranger can't make. */
const verp = (bounceAddress: string, id: string, stamp: string): string => {
  const at = bounceAddress.lastIndexOf('@')
  return `${bounceAddress.slice(0, at)}+${id}.${stamp}${bounceAddress.slice(at)}`
}

export interface Composed {
  relay: RelayAccess
  mail: Mail
}

/** Gives the function that makes the mail of a message, and opens the way it goes. */
export const createComposer = (app: App) => {
  const open = createOpener(app)
  const { smtpUrl, publicUrl } = app.config

  const relayOf = ({ accountId, relay }: ClaimedMessage): RelayAccess | null => {
    if (!relay) return smtpUrl === null ? null : relayOfUrl(smtpUrl)
    const { host, port, isSecure, username, sealedPassword } = relay
    return {
      host,
      port,
      isSecure,
      username,
      password: sealedPassword === null ? null : open(sealedPassword, accountId),
    }
  }

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
      links: { unsubscribe },
    })
  }

  /** null: the account's sending method, or the project, is gone since it was queued. */
  return async (claimed: ClaimedMessage, content: Content): Promise<Composed | null> => {
    const { accountId, id, email, type, domain, sealedKey } = content
    const token = type === 'marketing' ? app.tokens.sign('unsubscribe', [accountId, email], null) : null
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
        replyTo: content.replyTo,
        subject: content.subject,
        html: body.html,
        text: body.text,
        calendar: content.calendar,
        messageId: `<${id}@${domain}>`,
        date: content.createdAt,
        bounceTo: bounceAddress === null ? content.fromEmail : verp(bounceAddress, id, app.tokens.stamp('bounce', id)),
        headers: unsubscribe
          ? { 'List-Unsubscribe': `<${unsubscribe}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
          : {},
        dkim:
          sealedKey === null
            ? null
            : { domain, selector: dkimSelector, privateKey: open(sealedKey, domainContext(accountId, domain)) },
      },
    }
  }
}

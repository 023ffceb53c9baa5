import type { Inserted } from '../outbox/insert.ts'
import type { ClaimedMessage, Content } from '../outbox/outbox.claim.ts'
import type { Sendable } from './send.message.ts'

/** The worker that claims the inserted messages, and their relay and stream. */
export type Claimant = Pick<ClaimedMessage, 'accountId' | 'worker' | 'relay' | 'batch'> & { now: Date }

const noContent = { html: null, text: null, calendar: null, projectId: null, projectVersion: null, mergeData: null }

/** Returns an inserted message as a claim that carries its content, so that the content need not be loaded again. */
export const claimOf = (
  { accountId, worker, relay, batch, now }: Claimant,
  message: Sendable,
  { id, sealedKey }: Inserted,
  addressees: Content['addressees'],
): ClaimedMessage => {
  const { type, to, fromEmail, fromName, replyTo, subject, content, headers, attachments, copy } = message
  return {
    accountId,
    id,
    batch,
    worker,
    claim: 1,
    tries: 0,
    isPatient: false,
    relay,
    content: {
      accountId,
      id,
      type,
      email: to,
      fromEmail,
      fromName,
      replyTo,
      subject,
      sealedKey,
      domain: fromEmail.slice(fromEmail.lastIndexOf('@') + 1),
      createdAt: now,
      dueAt: now,
      ...noContent,
      ...(content && 'version' in content ? { ...content, projectVersion: content.version } : content),
      headers: headers ?? null,
      attachmentsOf: attachments ? (copy?.of ?? id) : null,
      addressees,
    },
  }
}

import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

/** The IMAP mailbox that receives an account's delivery reports. It is read every minute. */
const BounceMailboxSchema = defineEntity({
  name: 'BounceMailbox',
  tableName: 'bounce_mailboxes',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    host: p.text(),
    port: p.integer(),
    /** TLS from the first byte (imaps). */
    isSecure: p.boolean(),
    username: p.text(),
    folder: p.text(),
    /** Sealed with `bounces` and the account's id as context. */
    sealedPassword: p.text().nullable(),
    updatedAt: p.datetime(),
    /** The time of the latest attempt, and its error. It is null if there is no error. */
    readAt: p.datetime().nullable(),
    error: p.text().nullable(),
  },
})
export class BounceMailbox extends BounceMailboxSchema.class {}
BounceMailboxSchema.setClass(BounceMailbox)

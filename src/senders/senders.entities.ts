import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

/** An account's own SMTP relay. An account without one uses the platform's. */
const RelaySchema = defineEntity({
  name: 'Relay',
  tableName: 'relays',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    host: p.text(),
    port: p.integer(),
    /** TLS from the first byte (smtps). */
    isSecure: p.boolean(),
    /** The password may be sent without TLS. */
    isTlsOptional: p.boolean().default(false),
    username: p.text().nullable(),
    /** Sealed with the account's id as context. */
    sealedPassword: p.text().nullable(),
    /** Delivery reports go to this address, extended by the message's id (VERP). If it is null, they go to the From address. */
    bounceAddress: p.text().nullable(),
    updatedAt: p.datetime(),
  },
})
export class Relay extends RelaySchema.class {}
RelaySchema.setClass(Relay)

/** A From address of an account. Every address on its verified domains is allowed too. */
const SenderSchema = defineEntity({
  name: 'Sender',
  tableName: 'senders',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'email'] }],
  indexes: [
    {
      name: 'senders_default_index',
      expression: `create unique index "senders_default_index" on "senders" ("account_id") where "is_default"`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    email: p.text().collation('C'),
    name: p.text(),
    replyTo: p.text().nullable(),
    isDefault: p.boolean(),
    createdAt: p.datetime(),
  },
})
export class Sender extends SenderSchema.class {}
SenderSchema.setClass(Sender)

/** A domain that an account sends from. Its mail is DKIM-signed once DNS records prove the ownership. */
const DomainSchema = defineEntity({
  name: 'Domain',
  tableName: 'domains',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    /** The domain in ASCII (Punycode). */
    domain: p.text().collation('C').primary(),
    status: p.enum(['pending', 'verified'] as const),
    /** The value that the ownership record must contain. */
    token: p.text(),
    /** The public DKIM key, base64 DER, as it is published. */
    publicKey: p.text(),
    /** The private DKIM key, PEM, sealed with account and domain as context. */
    sealedKey: p.text(),
    /** The purposes of the records that the latest DNS check found. */
    found: p.array(),
    createdAt: p.datetime(),
    checkedAt: p.datetime().nullable(),
  },
})
export class Domain extends DomainSchema.class {}
DomainSchema.setClass(Domain)

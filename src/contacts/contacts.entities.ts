import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'

const ContactListSchema = defineEntity({
  name: 'ContactList',
  tableName: 'contact_lists',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    /** Column names in the order in which they first came. */
    fields: p.array(),
    /** Exact: counted in the transaction that adds or removes contacts (contacts.count.ts). */
    rowCount: p.integer().default(0),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class ContactList extends ContactListSchema.class {}
ContactListSchema.setClass(ContactList)

/** A list that is deleted, while its contacts go (lists.delete.ts). */
const LeavingListSchema = defineEntity({
  name: 'LeavingList',
  tableName: 'leaving_lists',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    startedAt: p.datetime(),
  },
})
export class LeavingList extends LeavingListSchema.class {}
LeavingListSchema.setClass(LeavingList)

/** An address of an account: owner of the stable `rowId` and of the verdict. Keyed by email, so that one index serves all. */
const AddressSchema = defineEntity({
  name: 'Address',
  tableName: 'addresses',
  filters: tenantFilter,
  indexes: [
    {
      // Those whose domain DNS gave no answer for: contacts.recheck.ts looks at them again.
      name: 'addresses_in_doubt_index',
      expression: `create index "addresses_in_doubt_index" on "addresses" ("domain", "account_id", "email") where "verification_status" <> 'valid' and "verification_reasons" && '{dns_timeout,dns_error}'::text[]`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    rowId: p.text().collation('C'),
    domain: p.text().collation('C'),
    verificationStatus: p.enum(['valid', 'risky', 'invalid', 'unknown'] as const).nullable(),
    verificationReasons: p.array().nullable(),
    verifiedAt: p.datetime().nullable(),
  },
})
export class Address extends AddressSchema.class {}
AddressSchema.setClass(Address)

/** What mail has shown of an address, in a list or not: each verdict on it keeps that in mind. */
const AddressFindingSchema = defineEntity({
  name: 'AddressFinding',
  tableName: 'address_findings',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    finding: p.enum(['hard_bounced', 'complained'] as const).primary(),
    createdAt: p.datetime(),
  },
})
export class AddressFinding extends AddressFindingSchema.class {}
AddressFindingSchema.setClass(AddressFinding)

/** An address in a list, keyed by the address's `rowId`, so that what comes is put at an index's end. `email` is repeated here: it
 * never changes, and a page of a list needs no index of addresses by row.
 * No foreign key: the statement that adds contacts locks their list once, where a key would look for each row. */
const ContactSchema = defineEntity({
  name: 'Contact',
  tableName: 'contacts',
  filters: tenantFilter,
  uniques: [{ properties: ['listId', 'rowId'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    rowId: p.text().collation('C').primary(),
    listId: p.text().collation('C').primary(),
    email: p.text().collation('C'),
    fields: p.json<Record<string, string>>(),
    status: p.enum(['active', 'pending'] as const),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Contact extends ContactSchema.class {}
ContactSchema.setClass(Contact)

/** Each read of contacts by a key (api.md, GET /contacts). */
const AccessLogEntrySchema = defineEntity({
  name: 'AccessLogEntry',
  tableName: 'access_log',
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    at: p.datetime(),
    actor: p.text(),
    email: p.text().collation('C'),
    listId: p.text().collation('C').nullable(),
    found: p.integer(),
  },
})
export class AccessLogEntry extends AccessLogEntrySchema.class {}
AccessLogEntrySchema.setClass(AccessLogEntry)

/** What DNS says of a mail domain, shared by all accounts until it expires. */
const MailDomainSchema = defineEntity({
  name: 'MailDomain',
  tableName: 'mail_domains',
  indexes: [{ properties: ['expiresAt'] }],
  properties: {
    domain: p.text().collation('C').primary(),
    finding: p.enum(['mx', 'null_mx', 'no_mx', 'domain_not_found', 'timeout', 'error'] as const),
    expiresAt: p.datetime(),
  },
})
export class MailDomain extends MailDomainSchema.class {}
MailDomainSchema.setClass(MailDomain)

/** An import of a file, with the checkpoint that `svc imports resume` goes on from. */
const ImportSchema = defineEntity({
  name: 'Import',
  tableName: 'imports',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId', 'id'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    listId: p.text().collation('C'),
    /** Absolute path, or `-` for standard input. */
    file: p.text(),
    /** null for standard input, which can't be read twice. */
    fileSha256: p.text().nullable(),
    options: p.json<Record<string, unknown>>(),
    status: p.enum(['running', 'done'] as const),
    /** Data rows that are done: a batch is written by the transaction that moves this on, so never twice. */
    rowsDone: p.integer().default(0),
    created: p.integer().default(0),
    updated: p.integer().default(0),
    unchanged: p.integer().default(0),
    skipped: p.integer().default(0),
    rejected: p.integer().default(0),
    startedAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
})
export class Import extends ImportSchema.class {}
ImportSchema.setClass(Import)

const ImportRejectSchema = defineEntity({
  name: 'ImportReject',
  tableName: 'import_rejects',
  properties: {
    accountId: p.text().collation('C').primary(),
    importId: p.text().collation('C').primary(),
    line: p.integer().primary(),
    email: p.text().collation('C'),
    reason: p.text(),
  },
})
export class ImportReject extends ImportRejectSchema.class {}
ImportRejectSchema.setClass(ImportReject)

import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

const ContactListSchema = defineEntity({
  name: 'ContactList',
  tableName: 'contact_lists',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    /** Column names in the order of their first appearance. */
    fields: p.array(),
    /** It is exact: the transaction that adds or removes contacts updates it (contacts/write/write.count.ts). */
    rowCount: p.integer().default(0),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class ContactList extends ContactListSchema.class {}
ContactListSchema.setClass(ContactList)

/** A deleted list whose contacts are still being deleted (contacts/write/delete-list.ts). */
const DeletedListSchema = defineEntity({
  name: 'DeletedList',
  tableName: 'deleted_lists',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    startedAt: p.datetime(),
  },
})
export class DeletedList extends DeletedListSchema.class {}
DeletedListSchema.setClass(DeletedList)

/** An address of an account, with its stable `rowId` and its verification result. Keyed by email, so that one index is enough. */
const AddressSchema = defineEntity({
  name: 'Address',
  tableName: 'addresses',
  filters: tenantFilter,
  indexes: [
    {
      // Addresses whose domain had no answer from DNS, for contacts/verification/recheck.ts.
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

/** A signal of an address, whether or not it is in a list (contacts/verification/signals.ts). */
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

/**
 * An address in a list. Keyed by the address's `rowId`, so that new rows are appended to the index. `email` is repeated here: it never
 * changes, and reading a page of a list needs no index of addresses by row id. No foreign key: it would check the list for each row.
 */
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

/** A read of contacts by a key (docs/reference/api.md#get-contacts). */
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

/** The cached DNS answer for a mail domain, shared by all accounts until it expires. */
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

/** An import of a file, with the checkpoint from which `svc imports resume` continues. */
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
    /** It is null for standard input, which can't be read twice. */
    fileSha256: p.text().nullable(),
    options: p.json<Record<string, unknown>>(),
    /** It is `stopped` if the command was interrupted, and stays `running` if it failed or was killed: see `holdImport`. */
    status: p.enum(['running', 'stopped', 'done'] as const),
    /** Imported data rows. The transaction that writes a batch also advances this number, so no batch is written twice. */
    rowsDone: p.integer().default(0),
    created: p.integer().default(0),
    updated: p.integer().default(0),
    unchanged: p.integer().default(0),
    skipped: p.integer().default(0),
    rejected: p.integer().default(0),
    /** Rows whose person has opted out elsewhere (`--from`). */
    suppressed: p.integer().default(0),
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

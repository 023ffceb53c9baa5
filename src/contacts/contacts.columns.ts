// Generated from contacts.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './contacts.entities.ts'

export const accessLog = table('access_log', {
  accountId: 'text',
  id: 'text',
  at: 'timestamptz',
  actor: 'text',
  email: 'text',
  listId: 'text?',
  found: 'int4',
})

export const addresses = table('addresses', {
  accountId: 'text',
  email: 'text',
  rowId: 'text',
  domain: 'text',
  verificationStatus: typed<entities.Address['verificationStatus']>('text'),
  verificationReasons: '_text?',
  verifiedAt: 'timestamptz?',
})

export const addressFindings = table('address_findings', {
  accountId: 'text',
  email: 'text',
  finding: typed<entities.AddressFinding['finding']>('text'),
  createdAt: 'timestamptz',
})

export const contacts = table('contacts', {
  accountId: 'text',
  rowId: 'text',
  listId: 'text',
  email: 'text',
  fields: typed<entities.Contact['fields']>('jsonb'),
  status: typed<entities.Contact['status']>('text'),
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const contactLists = table('contact_lists', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  fields: '_text',
  rowCount: 'int4',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const deletedLists = table('deleted_lists', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  startedAt: 'timestamptz',
})

export const imports = table('imports', {
  id: 'text',
  accountId: 'text',
  listId: 'text',
  file: 'text',
  fileSha256: 'text?',
  options: typed<entities.Import['options']>('jsonb'),
  status: typed<entities.Import['status']>('text'),
  rowsDone: 'int4',
  created: 'int4',
  updated: 'int4',
  unchanged: 'int4',
  skipped: 'int4',
  rejected: 'int4',
  suppressed: 'int4',
  startedAt: 'timestamptz',
  finishedAt: 'timestamptz?',
})

export const importRejects = table('import_rejects', {
  accountId: 'text',
  importId: 'text',
  line: 'int4',
  email: 'text',
  reason: 'text',
})

export const mailDomains = table('mail_domains', {
  domain: 'text',
  finding: typed<entities.MailDomain['finding']>('text'),
  expiresAt: 'timestamptz',
})

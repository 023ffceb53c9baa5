// Generated from senders.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './senders.entities.ts'

export const domains = table('domains', {
  accountId: 'text',
  domain: 'text',
  status: typed<entities.Domain['status']>('text'),
  token: 'text',
  publicKey: 'text',
  sealedKey: 'text',
  found: '_text',
  createdAt: 'timestamptz',
  checkedAt: 'timestamptz?',
})

export const relays = table('relays', {
  accountId: 'text',
  host: 'text',
  port: 'int4',
  isSecure: 'bool',
  isTlsOptional: 'bool',
  username: 'text?',
  sealedPassword: 'text?',
  bounceAddress: 'text?',
  updatedAt: 'timestamptz',
})

export const senders = table('senders', {
  id: 'text',
  accountId: 'text',
  email: 'text',
  name: 'text',
  replyTo: 'text?',
  isDefault: 'bool',
  createdAt: 'timestamptz',
})

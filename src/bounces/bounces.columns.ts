// Generated from bounces.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/tables.ts'

export const bounceMailboxes = table('bounce_mailboxes', {
  accountId: 'text',
  host: 'text',
  port: 'int4',
  isSecure: 'bool',
  username: 'text',
  folder: 'text',
  sealedPassword: 'text?',
  updatedAt: 'timestamptz',
  readAt: 'timestamptz?',
  error: 'text?',
})

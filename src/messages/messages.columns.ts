// Generated from messages.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './messages.entities.ts'

export const messages = table('messages', {
  accountId: 'text',
  id: 'text',
  key: 'text?',
  sourceKind: typed<entities.Message['sourceKind']>('text'),
  sourceId: 'text?',
  type: typed<entities.Message['type']>('text'),
  topicId: 'text?',
  email: 'text',
  fromEmail: 'text?',
  fromName: 'text?',
  replyTo: 'text?',
  subject: 'text',
  html: 'text?',
  text: 'text?',
  calendar: 'text?',
  projectId: 'text?',
  projectVersion: 'int4?',
  mergeData: typed<entities.Message['mergeData']>('jsonb'),
  headers: typed<entities.Message['headers']>('jsonb'),
  copy: typed<entities.Message['copy']>('text'),
  copyOf: 'text?',
  attachments: 'int4?',
  status: typed<entities.Message['status']>('text'),
  reason: 'text?',
  error: 'text?',
  createdAt: 'timestamptz',
  scheduledAt: 'timestamptz?',
  finishedAt: 'timestamptz?',
  droppedAt: 'timestamptz?',
})

export const messageAttachments = table('message_attachments', {
  accountId: 'text',
  messageId: 'text',
  position: 'int4',
  filename: 'text',
  contentType: 'text',
  contentId: 'text?',
  size: 'int4',
  content: 'bytea',
})

export const messagePauses = table('message_pauses', {
  accountId: 'text',
  batch: 'text',
})

export const messageReports = table('message_reports', {
  accountId: 'text',
  messageId: 'text',
  fingerprint: 'text',
  kind: typed<entities.MessageReport['kind']>('text'),
  createdAt: 'timestamptz',
})

export const messageTallies = table('message_tallies', {
  accountId: 'text',
  batch: 'text',
  id: 'uuid',
  status: typed<entities.MessageTally['status']>('text'),
  count: 'int4',
})

export const pendingSuppressions = table('pending_suppressions', {
  accountId: 'text',
  messageId: 'text',
})

export const messageQueue = table('message_queue', {
  accountId: 'text',
  id: 'text',
  batch: 'text',
  dueAt: 'timestamptz',
  worker: 'int4?',
  claim: 'int4',
  isHanding: 'bool',
  tries: 'int4',
  isPatient: 'bool',
  expiresAt: 'timestamptz?',
})

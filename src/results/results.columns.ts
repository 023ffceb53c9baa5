// Generated from results.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/tables.ts'

export const messagePeople = table('message_people', {
  accountId: 'text',
  email: 'text',
  scope: 'text',
  link: 'text',
  opened: 'date?',
  clicked: 'date?',
  answered: 'date?',
  unsubscribed: 'date?',
  news: 'int2',
})

export const messageResults = table('message_results', {
  accountId: 'text',
  scope: 'text',
  day: 'date',
  metric: 'text',
  link: 'text',
  since: 'date',
  url: 'text',
  count: 'int4',
})

export const messageResultChanges = table('message_result_changes', {
  accountId: 'text',
  id: 'uuid',
  projectId: 'text?',
  cause: 'text?',
  day: 'date',
  metric: 'text',
  count: 'int4',
  email: 'text?',
  url: 'text?',
})

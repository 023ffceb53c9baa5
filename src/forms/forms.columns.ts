// Generated from forms.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './forms.entities.ts'

export const forms = table('forms', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  listId: 'text',
  fields: typed<entities.Form['fields']>('jsonb'),
  doubleOptIn: 'bool',
  origins: '_text',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const formConsents = table('form_consents', {
  accountId: 'text',
  id: 'text',
  email: 'text',
  listId: 'text',
  formId: 'text',
  formName: 'text',
  fields: typed<entities.FormConsent['fields']>('jsonb'),
  address: 'text?',
  at: 'timestamptz',
})

export const formPeople = table('form_people', {
  accountId: 'text',
  email: 'text',
  formId: 'text',
  submittedAt: 'timestamptz',
})

export const formSignups = table('form_signups', {
  accountId: 'text',
  rowId: 'text',
  listId: 'text',
  formId: 'text',
  formName: 'text',
  fields: typed<entities.FormSignup['fields']>('jsonb'),
  shown: typed<entities.FormSignup['shown']>('jsonb'),
  mailedAt: 'timestamptz',
  messageId: 'text?',
  tries: 'int4',
})
